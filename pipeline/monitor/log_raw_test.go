package monitor

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

// rawLab is a policy of raw rows, and such rows.
type rawLab struct {
	dim     int
	source  costs.FeatureSource
	encoder string
	header  []string
	rows    [][]string
	option  func(o *RunOptions)
}

func rawLabs(t *testing.T) map[string]rawLab {
	dir := t.TempDir()
	encoder := filepath.Join(dir, "encoder.json")
	if err := decidetest.WriteTable(encoder); err != nil {
		t.Fatal(err)
	}
	rows := rawLab{
		dim: decidetest.TableDim, source: costs.FeatureSource{Name: "groups base", Dim: decidetest.TableDim}, encoder: encoder,
		header: []string{"n-1", "amount", "other"}, rows: [][]string{{"x", "10", "a"}, {"7", "", "b"}, {"", "3.5", "c"}, {"new", "1e9", "d"}}, option: func(*RunOptions) {},
	}
	texts := rawLab{
		dim: hftest.Hidden, source: costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, encoder: hftest.Folder(t),
		header: []string{"claim"}, option: func(o *RunOptions) { o.Text = "claim" },
	}
	for _, text := range decidetest.Texts(20) {
		texts.rows = append(texts.rows, []string{text})
	}
	images := rawLab{
		dim: 12, source: costs.FeatureSource{Name: "image clip", Dim: 12}, encoder: hftest.CLIPFolder(t, hftest.SpellingCLIP(1)),
		header: []string{"file"}, option: func(o *RunOptions) { o.Image = "file" },
	}
	names, _ := decidetest.Pictures(t, dir, 6)
	for _, name := range names {
		images.rows = append(images.rows, []string{filepath.Join(dir, name)})
	}
	return map[string]rawLab{"rows": rows, "texts": texts, "images": images}
}

// A log of raw rows is the log of their features.
func TestRawLogs(t *testing.T) {
	rt := orttest.Open(t, 1)
	for name, l := range rawLabs(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := DefaultRunOptions()
			o.Policy = storage.File(decidetest.EncoderPolicy(t, dir, l.dim, l.source, ""))
			o.Baseline, o.Encoder, o.Device = storage.File(filepath.Join(dir, "costs.parquet")), l.encoder, ort.DefaultConfig()
			writeVectors(t, o.Baseline.String(), o.Policy.String(), l)
			o.In = storage.File(filepath.Join(dir, "raw.csv"))
			writeLog(t, o.In.String(), l.header, l.rows)
			l.option(&o)
			raw, err := Run(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}

			features, header := vectorsOf(t, rt, o), []string(nil)
			var rows [][]string
			for i := range l.dim {
				header = append(header, fmt.Sprint("f", i))
			}
			for ; len(features) > 0; features = features[l.dim:] {
				rows = append(rows, strings.Fields(strings.Trim(fmt.Sprint(features[:l.dim]), "[]")))
			}
			o.Text, o.Image, o.Encoder, o.In = "", "", "", storage.File(filepath.Join(dir, "features.csv"))
			writeLog(t, o.In.String(), header, rows)
			plain, err := Run(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			raw.New.File, plain.New.File = "", ""
			if diff := cmp.Diff(plain, raw); diff != "" || raw.New.Rows != int64(len(rows)) || raw.Outcomes.Known != raw.New.Rows {
				t.Error(diff)
			}
		})
	}
}

// vectorsOf are the features of the raw rows of a run.
func vectorsOf(t *testing.T, rt *ort.Runtime, o RunOptions) []float32 {
	t.Helper()
	o.Raw, o.Runtime = true, rt
	m, err := Open(t.Context(), storage.File(o.Policy.String()), o.Baseline, o.Options)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	raw, err := o.rawColumns(m.Router())
	if err != nil {
		t.Fatal(err)
	}
	src, err := openLog(t.Context(), o.In, m.Router().Info(), raw, true)
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	r, err := src.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.features
}

// writeVectors writes a baseline with random features for the policy.
func writeVectors(t *testing.T, path, policy string, l rawLab) {
	t.Helper()
	random := rand.New(rand.NewPCG(6, 6))
	tensor := &costs.Tensor{
		Actions: &costs.Actions{
			Experts: []costs.Expert{{Name: "small"}, {Name: "large"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "search"}}, Features: l.source,
		}, Dim: l.dim,
	}
	for n := range 80 {
		tensor.IDs, tensor.Splits = append(tensor.IDs, fmt.Sprint(n)), append(tensor.Splits, costs.Val)
		for range l.dim {
			tensor.Features = append(tensor.Features, float32(random.NormFloat64()))
		}
		tensor.Loss = append(tensor.Loss, 0, 1, 0, 1)
	}
	if err := costs.Write(t.Context(), storage.File(path), tensor); err != nil {
		t.Fatal(err)
	}
}

// writeLog writes rows on which large without advice was executed, rightly.
func writeLog(t *testing.T, path string, header []string, rows [][]string) {
	t.Helper()
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(append([]string{"expert", "advice", "loss"}, header...))
	for _, row := range rows {
		_ = w.Write(append([]string{"large", "none", "0"}, row...))
	}
	w.Flush()
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestRawLogErrors(t *testing.T) {
	l := rawLabs(t)["texts"]
	dir := t.TempDir()
	o := DefaultRunOptions()
	o.Policy = storage.File(decidetest.EncoderPolicy(t, dir, l.dim, l.source, ""))
	o.Baseline, o.Encoder, o.In = storage.File(filepath.Join(dir, "costs.parquet")), l.encoder, storage.File(filepath.Join(dir, "raw.csv"))
	writeVectors(t, o.Baseline.String(), o.Policy.String(), l)
	for _, c := range []struct {
		column, text string
		change       func(o *RunOptions)
		want         string
	}{
		{"claim", "x", func(o *RunOptions) { o.Text = "other" }, "column other: is missing; the columns are"},
		{"claim", "", func(o *RunOptions) { o.Text = "claim" }, "row 2: column claim: is missing"},
		{"claim", "x", func(o *RunOptions) { o.Image = "claim" }, "its input is text, not image"},
		{"claim", "x", func(o *RunOptions) { o.Text, o.Image = "claim", "claim" }, "texts or images, not both"},
		{"claim", "x", func(o *RunOptions) { o.Text, o.Decoder = "claim", "auto" }, "a decoder is only for images"},
		{"claim", "x", func(*RunOptions) {}, "its input is text, not row"},
		{"claim", "x", func(o *RunOptions) { o.Text, o.Encoder = "claim", "" }, "its input is features, not text"},
	} {
		writeLog(t, o.In.String(), []string{c.column}, [][]string{{c.text}})
		changed := o
		c.change(&changed)
		if _, err := Run(t.Context(), changed, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
