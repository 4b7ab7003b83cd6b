package decide

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/stage"
)

// writeFeatures writes a cost tensor of random features, batch by batch, and returns its path and its first rows.
func writeFeatures(t testing.TB, a *costs.Actions, rows, dim int) (string, *costs.Tensor) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "costs.parquet")
	w, err := costs.NewWriter(t.Context(), storage.File(path), a, costs.WriterOptions{Dim: dim})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	rng := rand.New(rand.NewPCG(3, 4))
	var first *costs.Tensor
	for done := 0; done < rows; {
		n := min(rows-done, 10_000)
		b := &costs.Tensor{Actions: a, Dim: dim, Features: make([]float32, n*dim), Loss: make([]float32, n*a.Len()), Splits: make([]costs.Split, n)}
		for i := range b.Features {
			b.Features[i] = float32(rng.NormFloat64())
		}
		for i := range n {
			b.IDs = append(b.IDs, fmt.Sprintf("row %d", done+i))
		}
		if err := w.Append(b); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		done += n
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path, first
}

func TestDecideEqualsTheReferenceInEveryFormat(t *testing.T) {
	rt := orttest.Open(t, 1)
	p := decidetest.Policy(5, 7)
	policy := decidetest.WritePolicy(t, p)
	in, rows := writeFeatures(t, p.Actions, 9000, 5) // three batches of text
	want := make([]int32, rows.Len())
	for n := range want {
		action, err := p.Decide(rows.Row(n))
		if err != nil {
			t.Fatal(err)
		}
		want[n] = int32(action)
	}
	text := filepath.Join(t.TempDir(), "rows.csv")
	if err := atomicfile.Write(text, func(w io.Writer) error { return writeCSV(w, rows) }); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{in, text} {
		for _, scores := range []bool{false, true} {
			out := filepath.Join(t.TempDir(), "out.parquet")
			o := DefaultStreamOptions()
			o.Policy, o.In, o.Out, o.Scores, o.Workers = storage.File(policy), storage.File(from), storage.File(out), scores, 3
			sum, err := Stream(t.Context(), rt, o, nil, nil, stage.Quiet)
			if err != nil {
				t.Fatal(err)
			}
			if sum.Rows != int64(rows.Len()) {
				t.Errorf("%d rows decided, want %d", sum.Rows, rows.Len())
			}
			got, err := parquet.ReadFile[scoredRow](out)
			if err != nil {
				t.Fatal(err)
			}
			checkDecisions(t, p, rows, want, got, scores)
		}
	}
}

func checkDecisions(t *testing.T, p *policy.Policy, rows *costs.Tensor, want []int32, got []scoredRow, scores bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows written, want %d", len(got), len(want))
	}
	for n, g := range got {
		j, k := p.Actions.Pair(int(want[n]))
		expected := decisionRow{rows.IDs[n], want[n], p.Actions.Experts[j].Name, p.Actions.Advice[k].Name, int32(j), int32(k)}
		if g.decisionRow != expected {
			t.Fatalf("row %d is %+v, want %+v", n, g.decisionRow, expected)
		}
		if scores != (len(g.Scores) == 9) {
			t.Fatalf("row %d has %d scores", n, len(g.Scores))
		}
	}
}

func writeCSV(w io.Writer, t *costs.Tensor) error {
	c := csv.NewWriter(w)
	head := []string{"f0", "f1", "id", "f2", "f3", "f4"} // the id may be any column
	_ = c.Write(head)
	for n, id := range t.IDs {
		var cells []string
		for _, v := range t.Row(n) {
			cells = append(cells, fmt.Sprint(v))
		}
		_ = c.Write(append(append(append([]string{}, cells[:2]...), id), cells[2:]...))
	}
	c.Flush()
	return c.Error()
}

func TestDecideTextOutputsParse(t *testing.T) {
	rt := orttest.Open(t, 1)
	p := decidetest.Policy(2, 3)
	o := DefaultStreamOptions()
	o.Policy, o.Scores = storage.File(decidetest.WritePolicy(t, p)), true
	in := "id,x,y\n\"a \"\"b\"\", c\",1,2\n,3,4\n"
	var out bytes.Buffer
	if _, err := Stream(t.Context(), rt, o, strings.NewReader(in), &out, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{records[1][0], records[2][0]}
	if diff := cmp.Diff([]string{`a "b", c`, ""}, ids); diff != "" || len(records[0]) != 6+9 {
		t.Errorf("%d columns, ids %s", len(records[0]), diff)
	}
}

func TestDecideWithoutTakesTheBestRemaining(t *testing.T) {
	rt := orttest.Open(t, 1)
	p := decidetest.Policy(3, 4)
	in, rows := writeFeatures(t, p.Actions, 200, 3)
	o := DefaultStreamOptions()
	o.Policy, o.In, o.Out, o.Prices.Without = storage.File(decidetest.WritePolicy(t, p)), storage.File(in), storage.File(filepath.Join(t.TempDir(), "o.parquet")), []policy.Part{policy.Expert("c"), policy.Advice("short")}
	if _, err := Stream(t.Context(), rt, o, nil, nil, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	got, err := parquet.ReadFile[decisionRow](o.Out.String())
	if err != nil {
		t.Fatal(err)
	}
	scores := make([]float64, p.Actions.Len())
	for n, g := range got {
		if err := p.Scores(scores, rows.Row(n)); err != nil {
			t.Fatal(err)
		}
		best := -1
		for i, s := range scores {
			if j, k := p.Actions.Pair(i); j != 2 && k != 1 && (best < 0 || s > scores[best]) {
				best = i
			}
		}
		if int(g.Action) != best {
			t.Fatalf("row %d: action %d, best remaining is %d", n, g.Action, best)
		}
	}
}

func TestDecideErrorsLeaveNoFile(t *testing.T) {
	rt := orttest.Open(t, 1)
	p := decidetest.Policy(2, 3)
	policy := decidetest.WritePolicy(t, p)
	good := strings.Repeat("1,2\n", 3*mostRows)
	for name, in := range map[string]string{
		"first row": "x,y\n1,z\n",
		"last row":  "x,y\n" + good + "1,Inf\n",
		"quotes":    "x,y\n" + good + "1,\"2\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := DefaultStreamOptions()
			o.Policy, o.Out = storage.File(policy), storage.File(filepath.Join(dir, "out.csv"))
			_, err := Stream(t.Context(), rt, o, strings.NewReader(in), nil, stage.Quiet)
			var bad *costs.DataError
			if !errors.As(err, &bad) || bad.File != standardInput || bad.Row == 0 {
				t.Errorf("error %v, want a *costs.DataError with file and row", err)
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// TestDecideRefusesRowsOfOtherActions: a tensor states its experts; plain features do not.
func TestDecideRefusesRowsOfOtherActions(t *testing.T) {
	rt := orttest.Open(t, 1)
	p := decidetest.Policy(2, 3)
	policy := decidetest.WritePolicy(t, p)
	for name, c := range map[string]struct {
		change func(a *costs.Actions)
		want   string
	}{
		"same":   {func(*costs.Actions) {}, ""},
		"fees":   {func(a *costs.Actions) { a.Experts[1].Fee = 3 }, ""},
		"expert": {func(a *costs.Actions) { a.Experts[2].Name = "d" }, `expert 2 is "c", not "d"`},
		"source": {func(a *costs.Actions) { a.Features.Name = "table" }, ""}, // the policy does not record its own
		"advice": {func(a *costs.Actions) { a.Advice[1].Name = "brief" }, `advice 1 is "short", not "brief"`},
	} {
		a := *p.Actions
		a.Experts, a.Advice = slices.Clone(a.Experts), slices.Clone(a.Advice)
		c.change(&a)
		in, _ := writeFeatures(t, &a, 10, 2)
		for _, from := range []string{in, "-"} {
			text, err := os.Open(in)
			if err != nil {
				t.Fatal(err)
			}
			o := DefaultStreamOptions()
			o.Policy, o.In = storage.File(policy), storage.File(from)
			_, err = Stream(t.Context(), rt, o, text, io.Discard, stage.Quiet)
			text.Close()
			var bad *costs.DataError
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case c.want != "" && (!errors.As(err, &bad) || bad.File == "" || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: error %v, want one of the file about %q", name, err, c.want)
			}
		}
	}
}

// TestDecideNamesTheRow: an l2d policy has no remaining pair if advice must be bought.
func TestDecideNamesTheRow(t *testing.T) {
	rt := orttest.Open(t, 1)
	p := decidetest.Policy(2, 3)
	p.Method, p.Decoder = "l2d", policy.DecoderL2D
	o := DefaultStreamOptions()
	o.Policy, o.InFormat, o.Prices.Without = storage.File(decidetest.WritePolicy(t, p)), "csv", []policy.Part{policy.Advice("none")}
	_, err := Stream(t.Context(), rt, o, strings.NewReader("id,u,v\nfirst,1,2\n"), io.Discard, stage.Quiet)
	var data *costs.DataError
	if !errors.As(err, &data) || !strings.Contains(err.Error(), `id "first": no action remains`) {
		t.Errorf("error %v, want one that names the row", err)
	}
}

// TestDamagedPolicyIsBadData: the metadata is intact, the graph is not.
func TestDamagedPolicyIsBadData(t *testing.T) {
	rt := orttest.Open(t, 1)
	unknown := "Frobnicate"
	for name, damage := range map[string]func(m *onnx.Model){
		"dangling edge":    func(m *onnx.Model) { m.Proto.Graph.Node[1].Input[0] = "nowhere" },
		"unknown operator": func(m *onnx.Model) { m.Proto.Graph.Node[0].OpType = &unknown },
	} {
		m, err := decidetest.Policy(2, 3).Export()
		if err != nil {
			t.Fatal(err)
		}
		damage(m)
		path := filepath.Join(t.TempDir(), "policy.onnx")
		if err := m.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		var data *costs.DataError
		f, err := ReadPolicy(t.Context(), storage.File(path))
		if err == nil {
			_, err = f.Open(rt)
		}
		if !errors.As(err, &data) {
			t.Errorf("%s: error %v, want one about the file", name, err)
		}
	}
}

func TestDecideStopsWhenTheOutputFails(t *testing.T) {
	rt := orttest.Open(t, 1)
	o := DefaultStreamOptions()
	o.Policy = storage.File(decidetest.WritePolicy(t, decidetest.Policy(2, 3)))
	in := strings.NewReader("x,y\n" + strings.Repeat("1,2\n", 20*mostRows))
	if _, err := Stream(t.Context(), rt, o, in, failingWriter{}, stage.Quiet); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v, want the writer's", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// FuzzDecideText feeds arbitrary bytes as CSV and JSONL: an error or rows of the right width, never a panic.
func FuzzDecideText(f *testing.F) {
	for _, seed := range []string{"id,x,y\na,1,2\n", "{\"id\":1,\"features\":[1,2]}\n", "x,y\n\"", "{", "{\"features\":[null,1e99]}", "\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []string{formatCSV, formatJSONL} {
			src, err := openStream(t.Context(), "fuzz", format, io.NopCloser(bytes.NewReader(data)), &policy.Info{Dim: 2, Actions: &costs.Actions{}})
			if err != nil {
				continue
			}
			for {
				b, err := src.next(t.Context())
				if err != nil {
					break
				}
				if len(b.ids) == 0 || len(b.features) != 2*len(b.ids) {
					t.Fatalf("%s: %d ids and %d features", format, len(b.ids), len(b.features))
				}
			}
			src.close()
		}
	})
}

// BenchmarkDecide measures the whole path from a Parquet file to a Parquet file.
func BenchmarkDecide(b *testing.B) {
	const dim = 64
	for _, rows := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("parquet/rows=%d/dim=%d", rows, dim), func(b *testing.B) {
			rt := orttest.Open(b, 1)
			p := decidetest.Policy(dim, 64)
			in, _ := writeFeatures(b, p.Actions, rows, dim)
			o := DefaultStreamOptions()
			o.Policy, o.In, o.Out = storage.File(decidetest.WritePolicy(b, p)), storage.File(in), storage.File(filepath.Join(b.TempDir(), "out.parquet"))
			for b.Loop() {
				if _, err := Stream(context.Background(), rt, o, nil, nil, stage.Quiet); err != nil {
					b.Fatal(err)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
		})
	}
}

func TestDecideReadsGzippedRows(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rows.csv.gz":   "id,a,b\nx,1,2\ny,3,4\n",
		"rows.jsonl.gz": `{"id":"x","features":[1,2]}` + "\n" + `{"id":"y","features":[3,4]}` + "\n",
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		for _, cut := range []int{0, 9} {
			if err := os.WriteFile(path, b.Bytes()[:b.Len()-cut], 0o600); err != nil {
				t.Fatal(err)
			}
			src, err := openFeatures(t.Context(), rowFile{path: storage.File(path), format: formatAuto}, &policy.Info{Dim: 2, Actions: &costs.Actions{}})
			if err != nil {
				t.Fatal(err)
			}
			batch, err := src.next(t.Context())
			src.close()
			if cut == 0 && (err != nil || !slices.Equal(batch.features, []float32{1, 2, 3, 4})) {
				t.Errorf("%s: %+v, %v", name, batch, err)
			}
			if cut > 0 && err == nil {
				t.Errorf("%s cut short reads as complete", name)
			}
		}
	}
}

// A JSON file that is one list is not guessed as CSV: the error says what to write.
func TestListIsNoLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	if err := os.WriteFile(path, []byte(`[{"id":"a","features":[1,2]}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := openFeatures(t.Context(), rowFile{path: storage.File(path), format: formatAuto}, &policy.Info{Dim: 2, Actions: &costs.Actions{}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	if _, err := src.next(t.Context()); err == nil || !strings.Contains(err.Error(), "is a JSON list") || !strings.Contains(err.Error(), "one object on each line") {
		t.Error(err)
	}
}
