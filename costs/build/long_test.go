package build

import (
	"encoding/json"
	"errors"
	"os"
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

// A template may be longer than 64 KiB; what is wrong with one is said with its line.
func TestLongTemplates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "templates.txt")
	long := strings.Repeat("x", 1<<17)
	if err := os.WriteFile(path, []byte("a {}\r\n\n"+long+" {}\nb {}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if list, err := readTemplates(path); err != nil || len(list) != 3 || list[1] != long+" {}" {
		t.Errorf("%d templates, %v", len(list), err)
	}
	if err := os.WriteFile(path, []byte("a {}\n\n"+long+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var bad *costs.DataError
	if _, err := readTemplates(path); !errors.As(err, &bad) || bad.Row != 3 || len(err.Error()) > 500 {
		t.Errorf("%.200v", err)
	}
}
