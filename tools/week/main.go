// Command week writes the decision log of a week of an invented service, and its policy if it is not there:
//
//	week DIR                 the first week: DIR/live.onnx and DIR/log
//	week DIR next.onnx 0.3   another week, in which the policy DIR/next.onnx gets three tenths of the requests
//
// docs/logs.md learns from it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"pipe/onnx/ort"
	"pipe/pipeline/learn/learntest"
)

// decisions are those of a week: one in five minutes.
const decisions = 2000

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "week:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 1 && len(args) != 3 {
		return errors.New("usage: week DIR [POLICY SHARE]")
	}
	week := uint64(len(args))
	w, err := learntest.New(ctx, args[0], week)
	if err != nil {
		return err
	}
	if len(args) == 3 {
		w.N = decisions
		share, err := strconv.ParseFloat(args[2], 64)
		if err != nil || !(share > 0 && share < 1) {
			return fmt.Errorf("the share %q is not between 0 and 1", args[2])
		}
		rt, err := ort.Open(ort.DefaultConfig())
		if err != nil {
			return err
		}
		defer rt.Close()
		closeIt, err := w.Try(ctx, rt, args[1], share)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeIt()) }()
	}
	return w.Serve(decisions)
}
