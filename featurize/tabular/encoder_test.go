package tabular

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/storage"
)

func fittedByHand(t testing.TB) (*Frame, *Encoder) {
	t.Helper()
	s := smallSchema()
	f := mustLoad(t, s, fitPrimary, fitJoined)
	return f, mustFit(t, f, s, []int{0, 1, 2, 3, 4})
}

func TestEncoderReadsBack(t *testing.T) {
	_, e := fittedByHand(t)
	path := filepath.Join(t.TempDir(), "encoder.json")
	if err := e.WriteFile(t.Context(), storage.File(path)); err != nil {
		t.Fatal(err)
	}
	got, err := ReadEncoder(t.Context(), storage.File(path))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e.fitted, got.fitted); d != "" || got.Digest() != e.Digest() || !bytes.Equal(got.JSON(), e.JSON()) {
		t.Errorf("digest %s, then %s: %s", e.Digest(), got.Digest(), d)
	}
	if !strings.HasPrefix(e.Digest(), "sha256:") || len(e.Digest()) != 71 {
		t.Errorf("digest is %s", e.Digest())
	}
	if d := cmp.Diff(e.Names(LayoutDense), got.Names(LayoutDense)); d != "" {
		t.Error(d)
	}
	if got.IDColumn() != "key" || got.fitted.Label != "bad" || got.fitted.Rows != 5 || cmp.Diff([]string{"0", "1"}, got.Labels()) != "" {
		t.Errorf("id %s, label %s with %q, %d rows", got.IDColumn(), got.fitted.Label, got.Labels(), got.fitted.Rows)
	}
	// White space is not content.
	var compact bytes.Buffer
	if err := json.Compact(&compact, e.JSON()); err != nil {
		t.Fatal(err)
	}
	if again, err := ParseEncoder(compact.Bytes()); err != nil || again.Digest() != e.Digest() {
		t.Errorf("compact form: %v", err)
	}
}

func TestEncoderRefuses(t *testing.T) {
	_, e := fittedByHand(t)
	good := string(e.JSON())
	for name, c := range map[string]struct{ text, says string }{
		"nothing":          {"", "is not an encoder"},
		"other JSON":       {`{"experts": []}`, `is not an encoder: unknown field "experts"`},
		"later format":     {strings.Replace(good, `"format": 1`, `"format": 2`, 1), "format 2; this program reads format 1"},
		"two":              {good + good, "there is data after the JSON value"},
		"no columns":       {`{"format":1,"labels":["0","1"],"groups":[{"name":"a"}],"rows":1}`, "0 columns"},
		"key in capitals":  {strings.Replace(good, `"kind": "time"`, `"Kind": "time"`, 1), `key "Kind" must be spelt "kind"`},
		"column twice":     {strings.Replace(good, `"name": "amount"`, `"name": "when"`, 1), `column "when" is a duplicate`},
		"taken name":       {strings.Replace(good, `"name": "amount"`, `"name": "split"`, 1), `column "split" is a duplicate, or has no name`},
		"group beyond":     {strings.Replace(good, `"group": 1`, `"group": 7`, 1), "group 7 is out of order"},
		"group back":       {strings.Replace(good, `"group": 0`, `"group": 1`, 1), "group 0 is out of order"},
		"kind":             {strings.Replace(good, `"kind": "time"`, `"kind": "tome"`, 1), `kind "tome" is unknown; known are number, time and category`},
		"negative std":     {strings.Replace(good, `"std": `, `"std": -`, 1), "standard deviation -"},
		"level twice":      {strings.Replace(good, `"x",`, `"y",`, 1), `level "y" is empty or a duplicate`},
		"indicator beyond": {strings.Replace(good, `"columns": [`+"\n    1\n", `"columns": [`+"\n    99\n", 1), "column 99 is not in group 0"},
		"indicator empty":  {strings.Replace(good, `"columns": [`+"\n    1\n", `"columns": [`+"\n", 1), "indicator 0 is empty"},
		"levels of number": {strings.Replace(good, `"log": true`, `"levels": ["a"]`, 1), "a numeric column must not have levels"},
	} {
		path := write(t, c.text)
		if c.text == good {
			t.Fatalf("%s: the text was not changed", name)
		}
		_, err := ReadEncoder(t.Context(), storage.File(path))
		if data := dataError(t, err); data.File != path || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	if _, err := ReadEncoder(t.Context(), storage.File(filepath.Join(t.TempDir(), "none"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

// FuzzReadEncoder: any bytes are refused with a *DataError or give an
// encoder that encodes, and that reads back as itself.
func FuzzReadEncoder(f *testing.F) {
	_, e := fittedByHand(f)
	f.Add(e.JSON())
	f.Add([]byte(`{"format":1,"labels":["0","1"],"rows":1,"groups":[{"name":"a"}],"columns":[{"name":"x","group":0,"kind":"number","std":1e-300}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "encoder.json")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		e, err := ReadEncoder(t.Context(), storage.File(path))
		if err != nil {
			dataError(t, err)
			return
		}
		again, err := ParseEncoder(e.JSON())
		if err != nil || again.Digest() != e.Digest() {
			t.Fatalf("%v: %s, then %s", err, e.Digest(), again.Digest())
		}
		values := make([]float32, len(e.Columns()))
		for i := range values {
			values[i] = []float32{nan32, 0, 1, 3, -1e38, 167}[i%6]
		}
		for _, l := range []Layout{LayoutDense, LayoutTree} {
			row := make([]float32, e.Width(l))
			e.Encode(row, values, l)
			for i, v := range row {
				if l == LayoutDense && !(v >= -ClipDeviations && v <= ClipDeviations) {
					t.Fatalf("%s is %v", e.Names(l)[i], v)
				}
			}
			if ends := e.GroupEnds(l); ends[len(ends)-1] != e.Width(l) {
				t.Fatalf("layout %v ends at %v, width %d", l, ends, e.Width(l))
			}
		}
	})
}
