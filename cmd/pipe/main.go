// Pipe learns which expert should answer a request and which advice it should be shown, and exports the policy as one
// ONNX file. See the README for an example session, and pipe help for the commands.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"pipe/cmd/cli"
	"pipe/onnx/ort"
	"pipe/pipeline/exitcode"
	"pipe/serve"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program. It returns the exit code and uses nothing but its arguments, files and the environment.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(stdin, stdout, stderr)
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.Run(ctx, root.ExecuteContext, exitCode)
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{cli.New("pipe", patience, stdin, stdout, stderr), ort.DefaultConfig()}
}

// exitCode returns the exit code of an error that package exitcode does not know.
func exitCode(err error) int {
	if wrong := (*serve.CheckError)(nil); errors.As(err, &wrong) {
		return exitcode.BadData
	}
	return exitcode.Failure
}
