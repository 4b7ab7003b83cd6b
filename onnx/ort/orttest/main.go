package orttest

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"pipe/onnx/ort"
)

// Main is the TestMain of packages whose examples need the runtime.
func Main(m *testing.M) {
	SkipExamples()
	os.Exit(m.Run())
}

// SkipExamples is for a TestMain that does more than Main. If the library is absent, it skips the examples of the
// package, as Open skips tests.
func SkipExamples() {
	flag.Parse()
	rt, err := ort.Open(ort.DefaultConfig())
	if err == nil {
		err = rt.Close()
	} else if os.Getenv("CI") != "true" {
		fmt.Fprintln(os.Stderr, "examples are skipped, they need ONNX Runtime:", err)
		err = flag.Set("test.skip", "^Example")
	} else {
		err = nil // the examples fail, and say why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
