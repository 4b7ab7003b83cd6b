package tabular

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/parquetjoin"
	"pipe/internal/storage"
)

// partRun is a table that is made in parts, as every machine makes one.
type partRun struct {
	t      *testing.T
	schema *Schema
	files  Files
	parts  []Part
}

func inParts(t *testing.T, s *Schema, files Files, n int, every int64) *partRun {
	t.Helper()
	places, err := FindRows(t.Context(), files.Primary, every, func(r io.Reader) io.Reader { return r })
	if err != nil {
		t.Fatal(err)
	}
	run := &partRun{t: t, schema: s, files: files}
	for i := range n {
		cut := func(i int) int64 { return places.End.Row * int64(i) / int64(n) / every * every }
		to := places.Before(cut(i + 1))
		if i == n-1 {
			to = places.End
		}
		run.parts = append(run.parts, Part{From: places.Before(cut(i)), To: to, Number: i, Count: n})
	}
	return run
}

func (r *partRun) load(i int) (*Frame, LoadReport) {
	r.t.Helper()
	f, report, err := LoadPart(r.t.Context(), r.schema, r.files, r.parts[i], nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return f, report
}

// trains says which rows train, by their id alone.
func trains(f *Frame) (train []int, names []string) {
	for n, id := range f.IDs {
		name := "val"
		if id[len(id)-1]%3 > 0 {
			name = "train"
			train = append(train, n)
		}
		names = append(names, name)
	}
	return train, names
}

// fit fits an encoder by summaries that went through files.
func (r *partRun) fit() (*Encoder, LoadReport) {
	r.t.Helper()
	var sums []*Summary
	var reports []LoadReport
	var ids []io.Reader
	for i := range r.parts {
		f, report := r.load(i)
		train, _ := trains(f)
		sum, err := Summarise(f, r.schema, train)
		if err != nil {
			r.t.Fatal(err)
		}
		var description, counts, list bytes.Buffer
		if err := sum.Write(&description, &counts); err != nil {
			r.t.Fatal(err)
		}
		if err := WriteIDs(&list, f); err != nil {
			r.t.Fatal(err)
		}
		if sum, err = ReadSummary(&description, bytes.NewReader(counts.Bytes())); err != nil {
			r.t.Fatal(err)
		}
		sums, reports, ids = append(sums, sum), append(reports, report), append(ids, &list)
	}
	if err := CheckIDs(r.files.Primary.String(), r.schema, ids); err != nil {
		r.t.Fatal(err)
	}
	e, err := FitSummaries(r.files.Primary.String(), r.schema, sums)
	if err != nil {
		r.t.Fatal(err)
	}
	return e, MergeReports(r.files, reports)
}

// table puts the parts of the table together.
func (r *partRun) table(e *Encoder) []byte {
	r.t.Helper()
	var parts []parquetjoin.Part
	for i := range r.parts {
		f, _ := r.load(i)
		_, names := trains(f)
		path := filepath.Join(r.t.TempDir(), "part.parquet")
		if err := WriteTablePart(r.t.Context(), storage.File(path), e, f, names, nil); err != nil {
			r.t.Fatal(err)
		}
		b := readAll(r.t, path)
		parts = append(parts, parquetjoin.Part{ReaderAt: bytes.NewReader(b), Size: int64(len(b))})
	}
	var out bytes.Buffer
	if err := parquetjoin.Join(&out, parts); err != nil {
		r.t.Fatal(err)
	}
	return out.Bytes()
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPartsEqualTheWhole: encoder, report and table of parts have the bytes of those of the whole, with a second file,
// with quoted newlines, and where parts are empty.
func TestPartsEqualTheWhole(t *testing.T) {
	s := smallSchema()
	for _, c := range []struct {
		rows, parts int
		quotes      bool
	}{{5, 3, false}, {9000, 1, false}, {9000, 2, true}, {14_000, 8, false}} {
		primary, joined := randomTable(rand.New(rand.NewPCG(uint64(c.rows), uint64(c.parts))), c.rows, c.quotes)
		files := Files{storage.File(filepath.Join(t.TempDir(), "p.csv")), storage.File(filepath.Join(t.TempDir(), "j.csv"))}
		for path, text := range map[string]string{files.Primary.String(): primary, files.Joined.String(): joined} {
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		f, report, err := Load(t.Context(), s, files, nil)
		if err != nil {
			t.Fatal(err)
		}
		train, names := trains(f)
		want := mustFit(t, f, s, train)
		run := inParts(t, s, files, c.parts, TableGroupRows)
		got, merged := run.fit()
		if d := cmp.Diff(string(want.JSON()), string(got.JSON())) + cmp.Diff(report, merged); d != "" {
			t.Fatalf("%+v: %s", c, d)
		}
		if !bytes.Equal(run.table(got), readAll(t, writeTo(t, want, f, names))) {
			t.Errorf("%+v: other bytes of the table", c)
		}
	}
}

// TestPartsFindDuplicates: an id that is twice in the file, in one part or in two, is the error that it is for the whole.
func TestPartsFindDuplicates(t *testing.T) {
	s := smallSchema()
	primary, joined := randomTable(rand.New(rand.NewPCG(1, 2)), 40, false)
	again, _, _ := bytes.Cut([]byte(primary[len("key,bad,when,amount,n_1,n_2,kind,far\n"):]), []byte("\n"))
	files := Files{Primary: storage.File(filepath.Join(t.TempDir(), "p.csv")), Joined: storage.File(filepath.Join(t.TempDir(), "j.csv"))}
	for path, text := range map[string]string{files.Primary.String(): primary + string(again) + "\n", files.Joined.String(): joined} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, _, want := Load(t.Context(), s, files, nil)
	run := inParts(t, s, files, 4, 1)
	var ids []io.Reader
	for i := range run.parts {
		f, _ := run.load(i)
		var list bytes.Buffer
		if err := WriteIDs(&list, f); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, &list)
	}
	slices.Reverse(ids)
	if err := CheckIDs(files.Primary.String(), s, ids); err == nil || want == nil || err.Error() != want.Error() {
		t.Errorf("got %v, want %v", err, want)
	}
	// In the second file, the part that checks the row finds it.
	twice := append([]byte(joined), []byte(joined[len("key,place,own\n"):])...)
	if err := os.WriteFile(files.Joined.String(), twice, 0o666); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range run.parts {
		if _, _, err := LoadPart(t.Context(), s, files, p, nil); err != nil {
			found++
		}
	}
	if found == 0 {
		t.Error("no part found the duplicates of the second file")
	}
}
