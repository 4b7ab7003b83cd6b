package models

import (
	"os"
	"sync"
	"testing"

	"pipe/onnx/ort"
)

var sharedRuntime = sync.OnceValues(func() (*ort.Runtime, error) { return ort.Open(ort.DefaultConfig()) })

// testRuntime is ONNX Runtime for the tests of this package. Without the
// library a test is skipped, except under CI.
func testRuntime(t testing.TB) *ort.Runtime {
	t.Helper()
	rt, err := sharedRuntime()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return rt
}
