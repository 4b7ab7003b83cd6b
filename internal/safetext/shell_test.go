package safetext

import (
	"os/exec"
	"testing"
)

// TestShell: a shell reads the word back.
func TestShell(t *testing.T) {
	for text, want := range map[string]string{
		"a/b.yaml": "a/b.yaml", "my file": "'my file'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "": "''", "a;b": "'a;b'", "~x": "'~x'",
	} {
		if got := Shell(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		sh, err := exec.LookPath("sh")
		if err != nil {
			continue
		}
		if out, err := exec.CommandContext(t.Context(), sh, "-c", "printf %s "+Shell(text)).Output(); err != nil || string(out) != text {
			t.Errorf("%q: the shell reads %q, %v", text, out, err)
		}
	}
}
