package decide

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/parquetjoin"
	"pipe/internal/storage"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/stage"
)

// TestSpansCoverTheRows: the spans of any number of shards follow each other, from the first row to the last, and all
// cuts are at multiples of the unit.
func TestSpansCoverTheRows(t *testing.T) {
	for _, c := range []struct {
		rows, unit int64
		n          int
	}{{0, 4096, 3}, {1, 4096, 8}, {20_000_000, decisionGroup, 8}, {9000, 4096, 2}, {100, 7, 200}} {
		at := int64(0)
		for _, s := range spans(c.rows, c.unit, c.n) {
			if s.From != at || s.To < s.From || s.To%c.unit != 0 && s.To != c.rows {
				t.Fatalf("%+v: span %+v behind row %d", c, s, at)
			}
			at = s.To
		}
		if at != c.rows {
			t.Errorf("%+v: the spans end at row %d", c, at)
		}
	}
}

// joined runs all spans and puts their files together.
func joined(t *testing.T, s *sharded, n int) []byte {
	t.Helper()
	c, err := s.cut(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var parts []parquetjoin.Part
	out.WriteString(s.head())
	for i, rows := range c.Spans {
		path := filepath.Join(t.TempDir(), s.partName(i))
		if _, err := s.run(t.Context(), rows, storage.File(path)); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, parquetjoin.Part{ReaderAt: bytes.NewReader(b), Size: int64(len(b))})
		if s.out != formatParquet {
			if err := skipHead(&out, bytes.NewReader(b), s.head()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s.out == formatParquet {
		out.Reset()
		if err := parquetjoin.Join(&out, parts); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// TestShardsEqualOneRun: whatever the forms of rows and decisions, the shards put together have the bytes of one run.
func TestShardsEqualOneRun(t *testing.T) {
	rows := 300_000
	if testing.Short() {
		rows = 20_000
	}
	rt := orttest.Open(t, 1)
	p := decidetest.Policy(5, 7)
	policy := decidetest.WritePolicy(t, p)
	in, first := writeFeatures(t, p.Actions, rows, 5)
	text := filepath.Join(t.TempDir(), "rows.csv")
	if err := atomicfile.Write(text, func(w io.Writer) error { return writeCSV(w, first) }); err != nil {
		t.Fatal(err)
	}
	lines := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := atomicfile.Write(lines, func(w io.Writer) error { return writeLines(w, first) }); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{in, text, lines} {
		for _, to := range []string{formatCSV, formatJSONL, formatParquet} {
			o := DefaultStreamOptions()
			o.Policy, o.In, o.Out, o.Scores, o.Workers = storage.File(policy), storage.File(from), storage.File(filepath.Join(t.TempDir(), "out."+to)), true, 2
			if _, err := Stream(t.Context(), rt, o, nil, nil, stage.Quiet); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(o.Out.String())
			if err != nil {
				t.Fatal(err)
			}
			s, err := openSharded(t.Context(), rt, o, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, 2, 5} {
				if !bytes.Equal(joined(t, s, n), want) {
					t.Errorf("%s to %s in %d shards: other bytes", filepath.Ext(from), to, n)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// writeLines writes rows as JSONL, some without an id, behind a byte order mark, with blank lines.
func writeLines(w io.Writer, t *costs.Tensor) error {
	b := []byte("\ufeff")
	for n, id := range t.IDs {
		row := map[string]any{"features": t.Row(n)}
		if n%3 > 0 {
			row["id"] = id
		}
		line, err := json.Marshal(row)
		if err != nil {
			return err
		}
		b = append(append(b, line...), "\n\n"[:1+n%2]...)
	}
	_, err := w.Write(b)
	return err
}
