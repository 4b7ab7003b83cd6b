package pipeline

import (
	"errors"
	"os"
	"strings"

	"pipe/internal/filelock"
)

// alone does work that leaves files in a folder, while no other run does: a second one is a *filelock.InUseError. The
// folder is made; without a name there is none.
func alone[T any](folder string, work func() (T, error)) (result T, err error) {
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

func isFolder(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}

// isFileName tells whether files can be named after a setting: letters, digits and _.
func isFileName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}
