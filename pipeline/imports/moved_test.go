package imports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
)

// An import over a tensor counts the ids that it moves to another split. It reports nothing if no id moves, if the old
// file is not a tensor, or if the kind of split is named.
func TestMovedRows(t *testing.T) {
	dir := t.TempDir()
	config, out := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "t.parquet")
	outcomes, features := "id,expert,loss\n", "id,u\n"
	for n := range 200 {
		outcomes += fmt.Sprintf("%d,a,%d\n", n, n%2)
		features += fmt.Sprintf("%d,%d\n", n, n)
	}
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(dir, "o.csv"), outcomes)
	put(filepath.Join(dir, "f.csv"), features)
	run := func(split string) *Report {
		t.Helper()
		put(config, "outcomes: {file: o.csv, columns: {id: id, expert: expert, loss: loss}}\n"+
			"fees: {experts: {a: 0.1}}\nfeatures: [{file: f.csv, id: id, columns: [u]}]\nsplit: "+split+"\n")
		r, err := Run(t.Context(), Options{Config: storage.File(config), Out: storage.File(out)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	put(out, "PAR1 no tensor")
	if r := run("{validation: 0.25}"); r.Moved != nil {
		t.Errorf("no tensor before: %+v", r.Moved)
	}
	if r := run("{validation: 0.25, kind: stratified}"); r.Moved != nil {
		t.Errorf("a kind is named: %+v", r.Moved)
	}
	old, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := run("{validation: 0.25}")
	now, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var want MovedRows
	for i := range now.IDs {
		if now.Splits[i] != old.Splits[i] {
			want.IDs++
			if now.Splits[i] == costs.Train {
				want.Train++
			}
		}
	}
	if want.Train == 0 || r.Moved == nil || *r.Moved != want {
		t.Errorf("moved %+v, want %+v", r.Moved, want)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), fmt.Sprintf("%d ids are in another split", want.IDs)) {
		t.Errorf("%s", &text)
	}
	if r := run("{validation: 0.25}"); r.Moved != nil {
		t.Errorf("nothing moved: %+v", r.Moved)
	}
	if err := run("{validation: 0.4, seed: 1}").WriteText(&text); err != nil || strings.Contains(text.String(), "was asked for") {
		t.Errorf("near its share: %s", &text)
	}
	outcomes, features = "id,expert,loss\n0,a,1\n", "id,u\n0,1\n"
	for n := range 12 {
		outcomes, features = outcomes+fmt.Sprintf("x%d,a,0\n", n), features+fmt.Sprintf("x%d,1\n", n)
	}
	put(filepath.Join(dir, "o.csv"), outcomes)
	put(filepath.Join(dir, "f.csv"), features)
	text.Reset()
	if err := run("{validation: 0.25, seed: 4}").WriteText(&text); err != nil || !strings.Contains(text.String(), "val has 6 of 13 rows, which is a share of 0.46; 0.25 was asked for") {
		t.Errorf("far from its share: %s", &text)
	}
}
