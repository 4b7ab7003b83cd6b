package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestExpertOfGo: the expert that go.md shows is the one that a test builds and runs.
func TestExpertOfGo(t *testing.T) {
	program := read(t, "../tools/outside/expert/main.go")
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "go.md"), -1) {
		if !strings.Contains(block[1], ") Predict(") {
			continue
		}
		if !strings.Contains(program, block[1]) {
			t.Error("tools/outside/expert has another expert")
		}
		return
	}
	t.Error("the page shows no expert")
}
