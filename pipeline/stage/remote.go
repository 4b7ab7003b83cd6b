package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pipe/internal/storage"
)

// RemoteOutput is a file in an object store that is made on this machine first, because its maker needs a work folder
// beside it. An interrupted run goes on there.
type RemoteOutput struct {
	Local string // the path to make
	out   string
}

// OpenRemoteOutput returns where to make an output: the file out, or file in the folder out. It is nil for a local
// output. An output that exists and was not made on this machine is an error, unless replace is set.
func OpenRemoteOutput(out, file string, replace bool) (*RemoteOutput, error) {
	if !storage.IsRemote(out) {
		return nil, nil
	}
	r := &RemoteOutput{out: out}
	if !strings.HasSuffix(strings.ToLower(r.out), filepath.Ext(file)) {
		r.out = storage.Join(r.out, file)
	}
	var err error
	if r.Local, err = storage.Work(r.out); err != nil {
		return nil, err
	}
	_, here := os.Stat(r.Local)
	_, there := storage.Stat(r.out)
	switch {
	case there != nil && !errors.Is(there, fs.ErrNotExist):
		return nil, there
	case there == nil && here != nil && !replace:
		return nil, fmt.Errorf("output %q exists and was not built on this machine; remove it, or start over with --restart", storage.Shown(r.out))
	}
	return r, nil
}

// String is the URL of the output, without parameters.
func (r *RemoteOutput) String() string { return storage.Shown(r.out) }

// Store stores the finished files: those whose names begin with that of the output.
func (r *RemoteOutput) Store() error {
	files, err := os.ReadDir(filepath.Dir(r.Local))
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() || !strings.HasPrefix(f.Name(), filepath.Base(r.Local)) {
			continue
		}
		if err := storage.Put(storage.Join(storage.Dir(r.out), f.Name()), filepath.Join(filepath.Dir(r.Local), f.Name())); err != nil {
			return err
		}
	}
	return nil
}
