// Pipe learns who should act on an instance and what advice that expert should be shown first, and serves what it
// learned as one ONNX file. See the README for a session, and pipe help for the commands.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pipe/internal/atomicfile"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: it returns the exit code and touches nothing but its arguments, files and the environment.
// SIGINT, SIGTERM and SIGHUP cancel the context once; a second one ends the process at once.
//
// Work that is asked to stop ends within patience, or else is left where it is: a read of a named pipe without a writer
// cannot be interrupted. Its temporary files are removed then, and the caller has to end the process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, endings()...)
	defer stop()
	context.AfterFunc(ctx, stop)

	a := newApp(stdin, stdout, stderr)
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	select {
	case err := <-ended:
		return a.exit(ctx, err)
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return a.exit(ctx, err)
	case <-time.After(patience):
		atomicfile.Abandon()
		return a.exit(ctx, ctx.Err())
	}
}

// patience is how long work may take to end after a signal. What takes longer is stuck; stopping it at any moment is
// safe, as files appear whole or not at all.
const patience = 2 * time.Second

// endings are the signals that end the program. A program that was told to outlive its terminal (nohup) ignores SIGHUP.
func endings() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}
