// Command week writes the decision log of a week of an invented service, and its policy if it is not there:
//
//	week DIR                 the first week: DIR/live.onnx and DIR/log
//	week DIR next.onnx 0.3   another week, in which the policy DIR/next.onnx gets three tenths of the requests
//
// docs/logs.md learns from it.
package main

import (
	"context"
	"fmt"
	"os"

	"pipe/pipeline/learn/learntest"
)

func main() {
	if err := learntest.Week(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "week:", err)
		os.Exit(1)
	}
}
