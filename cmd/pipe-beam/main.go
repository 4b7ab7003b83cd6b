// Pipe-beam runs stages of pipe on the workers of an Apache Beam runner, such as Flink. See docs/scale.md.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"pipe/cmd/pipe-beam/engine"
	"pipe/cmd/pipe-beam/job"
	"pipe/internal/atomicfile"
	"pipe/internal/interrupt"
	"pipe/internal/storage"

	_ "pipe/cloud" // s3://, gs:// and azblob://
)

func main() {
	w := job.NewWorker(job.Stages())
	engine.Worker(w.Task, w.Close) // where a runner has started this program, it does not return
	code := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	w.Close()
	os.Exit(code)
}

// patience is how long a job may take to end after a signal. Then the program ends without it.
const patience = 10 * time.Second

// run is the program. It returns the exit code. The first signal cancels the job, a second one ends the program at once.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := interrupt.Context(ctx)
	defer stop()
	a := newApp(stdout, stderr)
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	storage.Bind(ctx)
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
