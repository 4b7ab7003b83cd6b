// Pipe learns which expert should answer a request and which advice it should be shown, and exports the policy as one
// ONNX file. See the README for an example session, and pipe help for the commands.
package main

import (
	"context"
	"io"
	"os"
	"time"

	_ "pipe/cloud" // object stores in paths
	"pipe/internal/atomicfile"
	"pipe/internal/interrupt"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program. It returns the exit code and uses nothing but its arguments, files and the environment. SIGINT,
// SIGTERM and SIGHUP cancel the context once; a second one ends the process at once.
//
// Work that does not stop within patience is abandoned: a read of a named pipe without a writer cannot be interrupted. A
// command that needs longer, such as a server that answers what it has begun, says so in app.patience. Its temporary files are removed, and the caller must end the process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := interrupt.Context(ctx)
	defer stop()

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
	case <-time.After(time.Duration(a.patience.Load())):
		atomicfile.Abandon()
		return a.exit(ctx, ctx.Err())
	}
}
