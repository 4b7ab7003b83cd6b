package stage

import (
	"errors"
	"os"

	"pipe/internal/filelock"
)

// Alone does work that leaves files in a folder, while no other run does: a second one is a *filelock.InUseError. The
// folder is made; without a name there is none.
func Alone[T any](folder string, work func() (T, error)) (result T, err error) {
	if folder == "" {
		return work()
	}
	lock, err := filelock.Folder(folder)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return work()
}

// IsFolder tells whether path is a folder, or a link to one.
func IsFolder(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}
