package stage

import (
	"context"
	"errors"

	"pipe/internal/atomicfile"
	"pipe/internal/filelock"
	"pipe/internal/storage"
)

// Alone runs work that writes into a folder, while no other run does: if another run is using the folder, the error is
// an *InUseError. It creates the folder; if the name is empty, there is none.
func Alone[T any](folder storage.Location, work func() (T, error)) (result T, err error) {
	if folder.IsZero() || folder.IsRemote() { // object stores have no locks
		return work()
	}
	lock, err := filelock.Folder(folder.String(), atomicfile.MkdirAll)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return work()
}

// InTurn writes several files that belong together into a folder. It waits for other runs that write there.
func InTurn(ctx context.Context, folder storage.Location, write func() error) (err error) {
	if folder.IsRemote() {
		return write()
	}
	lock, err := filelock.WaitFolder(ctx, folder.String(), atomicfile.MkdirAll)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return write()
}

// IsFolder reports whether path is a folder, or a link to one.
func IsFolder(ctx context.Context, path storage.Location) bool {
	s, err := path.Stat(ctx)
	return err == nil && s.IsDir()
}
