package builder

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/storage"
)

// TestTablesAreBounded: as the memory that is allowed grows, a build fails at one table after the other, each time with
// file, row and advice, until all of them fit together.
func TestTablesAreBounded(t *testing.T) {
	const rows = 100
	list := func(format string) string {
		return strings.Join(listOf(rows, func(i int) string { return strings.ReplaceAll(format, "#", fmt.Sprint(i)) }), "")
	}
	w := newWorld(t, rows)
	w.write(t, "f.csv", "id,a\n"+list("r#,1\n"))
	w.cfg.Features = append(w.cfg.Features, part.Part{Kind: "file", Settings: map[string]any{"file": "f.csv"}})
	refused := make(map[string]int)
	for memory := int64(1000); ; memory += 1000 {
		_, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true, memory: memory})
		if err == nil {
			break
		}
		parttest.Bounded(t, err)
		var bad *costs.DataError
		errors.As(err, &bad)
		name := filepath.Base(bad.File)
		if strings.Contains(err.Error(), "read columns") {
			name += ", columns"
		}
		refused[name]++
	}
	for _, name := range []string{"instances.csv", "instances.csv, columns", "answers.csv", "f.csv"} {
		if refused[name] == 0 {
			t.Errorf("%s was never refused: %v", name, refused)
		}
	}
}
