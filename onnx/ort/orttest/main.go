package orttest

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"pipe/onnx/ort"
)

// Main is the TestMain of packages whose examples need the runtime: if the library is absent, the examples are skipped,
// as Open skips tests.
func Main(m *testing.M) {
	flag.Parse()
	rt, err := ort.Open(ort.DefaultConfig())
	switch {
	case err == nil:
		if err := rt.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv("CI") != "true":
		fmt.Fprintln(os.Stderr, "examples are skipped, they need ONNX Runtime:", err)
		if err := flag.Set("test.skip", "^Example"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
