package outcome

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// TestImportIsBounded: tables that would take more memory than a command keeps are an error with file, row and advice,
// whatever it is that grows, and before that memory is taken.
func TestImportIsBounded(t *testing.T) {
	rows := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	const many = 3000
	long := Table{Columns: Columns{ID: "id", Expert: "who", Loss: "loss"}}
	texted := long
	texted.Columns.Prediction = "said"
	for name, c := range map[string]struct {
		outcomes Table
		table    string
		features string
		list     bool
		row      bool   // the error has a row
		file     string // that the error names
	}{
		"ids":         {outcomes: long, table: "id,who,loss\n" + rows("#,a,0\n", many), features: "id,x\n0,1\n", row: true, file: "o.csv"},
		"predictions": {outcomes: texted, table: "id,who,loss,said\n" + rows("#,a,0,text #\n", many/2), features: "id,x\n0,1\n", row: true, file: "o.csv"},
		"pairs":       {outcomes: long, table: "id,who,loss\n" + rows("#,e#,0\n", 300), features: "id,x\n0,1\n", row: true, file: "o.csv"}, // instances x pairs
		"features":    {outcomes: long, table: "id,who,loss\n" + rows("#,a,0\n", 100), features: "id,x" + rows(",f#", many) + "\n0,1" + rows(",0", many) + "\n", row: true, file: "f.csv"},
		"list":        {outcomes: long, table: "id,who,loss\n" + rows("#,a,0\n", 100), features: "id,x\n0,\"[1" + rows(",0", many) + "]\"\n", list: true, row: true, file: "f.csv"},
		"categories":  {outcomes: long, table: "id,who,loss\n" + rows("#,a,0\n", 200), features: "id,x\n" + rows("#,c#\n", 200), file: "f.csv"},
	} {
		folder := t.TempDir()
		write := func(file, text string) string {
			path := filepath.Join(folder, file)
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			return path
		}
		cfg := DefaultConfig()
		cfg.Outcomes = c.outcomes
		cfg.Outcomes.File = storage.File(write("o.csv", c.table))
		cfg.None, cfg.DropIncomplete = "none", true
		f := FeatureTable{File: storage.File(write("f.csv", c.features)), ID: "id"}
		switch {
		case c.list:
			f.List = "x"
		case name == "categories":
			f.Categorical = []string{"x"}
		default:
			f.Columns = []string{"*"}
		}
		cfg.Features = []FeatureTable{f}
		_, _, err := importWithin(t.Context(), cfg, textfile.NewMemoryBudget(100_000))
		var bad *costs.DataError
		var fault *textfile.Fault
		if !errors.As(err, &bad) || !errors.As(err, &fault) || filepath.Base(bad.File) != c.file || (bad.Row > 1) != c.row || fault.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
		_, _, err = importWithin(t.Context(), cfg, textfile.NewMemoryBudget(textfile.MaxHeld))
		if errors.As(err, &fault) {
			t.Errorf("%s within the real bound: %v", name, err)
		}
	}
}
