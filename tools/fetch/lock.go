package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockFolder waits until no other process holds the lock on the folder. The system releases the lock when the process
// ends, however it ends.
func lockFolder(ctx context.Context, dir string) (unlock func() error, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return d.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %q: %w", dir, err), d.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), d.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
