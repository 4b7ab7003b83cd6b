// Pipe-beam runs stages of pipe on the workers of an Apache Beam runner, such as Flink. See docs/scale.md.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	_ "pipe/cloud" // s3://, gs:// and azblob://
	"pipe/cmd/cli"
	"pipe/cmd/pipe-beam/engine"
	"pipe/cmd/pipe-beam/job"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/exitcode"
	"pipe/pipeline/shards"
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

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{Program: cli.New("pipe-beam", patience, nil, stdout, stderr), runtime: ort.DefaultConfig(), engine: engine.Default(), work: shards.Default(storage.Location{})}
	a.Interrupted = "interrupted; shards that are done are kept"
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.Run(ctx, root.ExecuteContext, exitCode)
}

// exitCode returns the exit code of an error that package exitcode does not know: that of pipe where a worker had it.
func exitCode(err error) int {
	if elsewhere := (*job.Problem)(nil); errors.As(err, &elsewhere) {
		return elsewhere.Code
	}
	return exitcode.Failure
}
