package build

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pipe/costs"
)

// Claims are read more than once, so a pipe of them is refused; no writer is waited for.
func TestPipeOfClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var bad *costs.DataError
	if err := (&fever{file: path}).read(t.Context()); !errors.As(err, &bad) || bad.File != path {
		t.Errorf("%v", err)
	}
}

// What is wrong with a long value is said in few words.
func TestLongClaims(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, fields := range []map[string]any{
		{"id": []string{long}},
		{"id": 1, "claim": "c", "label": long},
		{"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": []any{[]any{[]any{1, 1, []string{long}, 1}}}},
	} {
		line, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		err = (&fever{file: "f"}).add(line, 1, map[string]int{})
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}
