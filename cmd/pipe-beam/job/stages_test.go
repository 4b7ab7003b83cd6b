package job

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"
)

// URLs of files get the form that stages use, wherever they stand in the options; numbers keep all their digits, and other
// texts are not changed.
func TestOptionsWithURLs(t *testing.T) {
	type inner struct{ Paths []string }
	type all struct {
		Path, Text string
		Seed       uint64
		Inner      inner
	}
	folder := t.TempDir()
	local := filepath.Join(folder, "rows.csv")
	text, err := json.Marshal(all{Path: "file://" + local, Text: "a: b", Seed: math.MaxUint64, Inner: inner{Paths: []string{"file://" + local, local}}})
	if err != nil {
		t.Fatal(err)
	}
	var got all
	if err := read(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Path != local || got.Text != "a: b" || got.Seed != math.MaxUint64 || got.Inner.Paths[0] != local || got.Inner.Paths[1] != local {
		t.Errorf("%+v", got)
	}
	if err := read(json.RawMessage(`{"Path": 5}`), &got); err == nil {
		t.Error("a number is a path")
	}
}
