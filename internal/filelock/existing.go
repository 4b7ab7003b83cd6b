package filelock

import (
	"errors"
	"os"
)

// Existing locks a file that exists, for a run that reads it and then replaces it by a new one. It writes nothing. If
// another run holds the lock, the error is an *InUseError; if there is no file, it is os.ErrNotExist. On a file system
// that cannot lock files it always succeeds.
func Existing(path string) (*Lock, error) {
	const tries = 100
	var err error
	for range tries {
		var f *os.File
		if f, err = os.Open(path); err != nil {
			return nil, err
		}
		var used *InUseError
		if err = hold(f); !errors.As(err, &used) { // without locks in the file system, every run may go on
			err = standsAt(f, path)
		}
		if err == nil {
			return &Lock{File: f}, nil
		}
		f.Close()
		if !errors.Is(err, os.ErrNotExist) { // another run replaced the file before it was locked
			return nil, err
		}
	}
	return nil, err
}
