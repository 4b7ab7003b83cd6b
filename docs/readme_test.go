package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/realdata"
)

// TestReadme: the demo prints what the first screen of the README shows.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	t.Setenv("PATH", program(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	page := read(t, filepath.Join(realdata.Root(t), "README.md"))
	shown := 0
	for _, block := range fenced.FindAllStringSubmatch(page, -1) {
		if block[1] != "console" {
			continue
		}
		commands, script := shellScript(t, block[0])
		printed := strings.Split(run(t, script, "python3"), boundary)
		for i, c := range commands {
			shown++
			if got := lines(printed[i]); !matches(got, c.prints) {
				t.Errorf("$ %s\nprinted:\n%s\n\nthe page has:\n%s", c.text, strings.Join(got, "\n"), strings.Join(c.prints, "\n"))
			}
		}
	}
	if shown == 0 {
		t.Error("the page shows no command")
	}
}
