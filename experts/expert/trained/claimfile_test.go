package trained

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/fuzztest"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// FuzzClaimFile: reading a file gives an error that names the file, or claims with a text and a class. Exactly the unsettled
// claims lack a sentence, and no claim is a routed one. Writing and reading the claims again changes nothing.
func FuzzClaimFile(f *testing.F) {
	f.Add([]byte("claim,label,sentence\nA is b.,SUPPORTS,\"A is b , -LRB- c -RRB- .\"\nQ,NOT ENOUGH INFO,\nRouted  Claim,REFUTES,no\n"), false)
	f.Add([]byte("{\"claim\":\"x\",\"label\":\"NOT_ENOUGH_INFO\",\"sentence\":null}\n{\"claim\":\"y\",\"label\":\"REFUTES\",\"sentence\":\"z\"}\n"), true)
	f.Add([]byte("claim,label,sentence\nx,SUPPORTS,\n"), false)
	files := fuzztest.TableFiles(f)
	routed := map[string]bool{normal("routed claim"): true}
	f.Fuzz(func(t *testing.T, b []byte, lines bool) {
		const unsettled = "NOT ENOUGH INFO"
		s := (&part.Build{Labels: parttest.ClaimLabels(), Inputs: make(part.Inputs)}).Setup(`expert "net"`)
		read := func(file string) ([]claim, error) {
			c := defaultClaimFile()
			c.File = part.Path(file)
			list, _, err := c.read(t.Context(), s, unsettled, routed)
			return list, err
		}
		file := files(lines)
		list, err := read(file.Write(t, b))
		if err != nil {
			file.Blames(t, err)
			return
		}
		if len(list) == 0 {
			return
		}
		var rows []map[string]any
		for _, c := range list {
			if strings.TrimSpace(c.Text) == "" || routed[normal(c.Text)] || (c.Sentence == "") != (s.Labels[c.Class] == unsettled) {
				t.Fatalf("%+v", c)
			}
			rows = append(rows, map[string]any{"claim": c.Text, "label": s.Labels[c.Class], "sentence": c.Sentence})
		}
		again, err := read(files(true).WriteLines(t, rows))
		fuzztest.Same(t, again, list, err)
	})
}

// TestClaimsBesideUnreadableColumns reads claims from a table whose other columns have types that cannot be read.
func TestClaimsBesideUnreadableColumns(t *testing.T) {
	dir := t.TempDir()
	parttest.TrainingClaims(t, dir, 12)
	read := func(name string) []claim {
		t.Helper()
		c := defaultClaimFile()
		c.File = part.Path(name)
		b := &part.Build{Dir: storage.File(dir), Labels: parttest.ClaimLabels(), Inputs: make(part.Inputs)}
		list, dropped, err := c.read(t.Context(), b.Setup(`expert "net"`), "NOT ENOUGH INFO", nil)
		if err != nil || dropped != 0 || len(list) != 12 {
			t.Fatalf("%s: %d claims, %d left out, %v", name, len(list), dropped, err)
		}
		return list
	}
	want := read("train.csv")
	columns := parttest.AddColumns(t, dir, "train.csv")
	if got := read("train.parquet"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, column := range columns {
		c := defaultClaimFile()
		c.File, c.Sentence = "train.parquet", column
		b := &part.Build{Dir: storage.File(dir), Labels: parttest.ClaimLabels(), Inputs: make(part.Inputs)}
		_, _, err := c.read(t.Context(), b.Setup(`expert "net"`), "NOT ENOUGH INFO", nil)
		var bad *costs.DataError
		if !errors.As(err, &bad) || bad.File != filepath.Join(dir, "train.parquet") || bad.Column != column {
			t.Errorf("%s: %v", column, err)
		}
	}
}

// TestClaimsAreBounded reads more claims than the memory of a build has room for.
func TestClaimsAreBounded(t *testing.T) {
	dir := t.TempDir()
	parttest.TrainingClaims(t, dir, 100)
	b := &part.Build{Dir: storage.File(dir), Labels: parttest.ClaimLabels(), Inputs: make(part.Inputs), Held: textfile.NewMemoryBudget(1000)}
	c := defaultClaimFile()
	c.File = "train.csv"
	_, _, err := c.read(t.Context(), b.Setup(`expert "net"`), "NOT ENOUGH INFO", nil)
	parttest.Bounded(t, err)
}
