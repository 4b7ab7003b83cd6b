package docs_test

import (
	"path/filepath"
	"testing"
)

// TestReadme: the demo prints what the first screen of the README shows.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	follow(t, filepath.Join("..", "README.md"), program(t))
}
