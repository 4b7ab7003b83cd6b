// Package interrupt ends a program by signals: the first one asks it to end, a second one ends it at once.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Context returns a context that ends with the first SIGINT, SIGTERM or SIGHUP; under nohup, SIGHUP is ignored. Before it
// ends, signals have their usual effect again, so that a second one ends the process, however soon it comes. stop frees what
// Context holds.
func Context(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(parent)
	came := make(chan os.Signal, 2)
	signal.Notify(came, signals...)
	go func() {
		defer cancel()
		defer signal.Stop(came)
		select {
		case <-came:
		case <-ctx.Done():
			return
		}
		signal.Stop(came)
		select {
		case second := <-came: // it came before Stop
			_ = syscall.Kill(os.Getpid(), second.(syscall.Signal)) // nothing else could be done
		default:
		}
	}()
	return ctx, cancel
}
