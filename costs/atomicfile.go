package costs

import (
	"os"
	"path/filepath"
)

// atomicFile is a file that appears under its name only when it is complete.
type atomicFile struct {
	*os.File
	path string
}

// createAtomic starts a file beside its final place, in the same folder so
// that the rename at the end cannot cross file systems.
func createAtomic(path string) (*atomicFile, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o644); err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return &atomicFile{f, path}, nil
}

// commit makes the content durable and gives the file its name.
func (f *atomicFile) commit() error {
	err := f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncFolder(filepath.Dir(f.path))
}

// abort removes what has been written.
func (f *atomicFile) abort() {
	f.Close()
	os.Remove(f.Name())
}

// syncFolder makes a rename in the folder durable.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
