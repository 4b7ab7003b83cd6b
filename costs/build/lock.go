package build

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lock is an advisory lock on a file. The system gives it back when the process
// ends, however it ends.
type lock struct{ file *os.File }

var errInUse = errors.New("another build is using it")

func takeLock(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errInUse
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &lock{f}, nil
}

// waitLock takes a lock as soon as nobody else has it.
func waitLock(ctx context.Context, path string) (*lock, error) {
	for {
		l, err := takeLock(path)
		if !errors.Is(err, errInUse) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (l *lock) release() error { return l.file.Close() }
