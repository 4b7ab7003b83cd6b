// Command policy writes a policy file with random weights for measurements of speed: networks of one hidden layer, three
// experts and two pieces of advice.
//
//	policy WIDTH HIDDEN OUT.onnx
package main

import (
	"fmt"
	"os"
	"strconv"

	"pipe/pipeline/decide/decidetest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "policy:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: policy WIDTH HIDDEN OUT.onnx")
	}
	width, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	hidden, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	m, err := decidetest.Policy(width, hidden).Export()
	if err != nil {
		return err
	}
	return m.WriteFile(args[2])
}
