package decide

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/stage"
)

// A sample is a router of one input, rows for it, and the same rows as the file and the options of Stream.
type sample struct {
	router *Router
	n      int
	all    func(ctx context.Context) ([]Decision, error)
	single func(ctx context.Context, i int) (Decision, error)
	file   string
	stream StreamOptions
}

// samples has one of every input. Texts, images and rows each have a separate policy.
func samples(t *testing.T, rt *ort.Runtime) map[string]*sample {
	t.Helper()
	return map[string]*sample{
		InputFeatures: featureSample(t, rt), InputText: textSample(t, rt), InputImage: imageSample(t, rt), InputRow: rowSample(t, rt),
	}
}

func opened(t *testing.T, rt *ort.Runtime, path, encoder string) *Router {
	t.Helper()
	r, err := Open(t.Context(), path, Options{Encoder: encoder, Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func featureSample(t *testing.T, rt *ort.Runtime) *sample {
	path := decidetest.WritePolicy(t, decidetest.Policy(3, 4))
	s := &sample{router: opened(t, rt, path, ""), n: 40, file: "a,b,c\n", stream: StreamOptions{Policy: storage.File(path)}}
	r, rows := rand.New(rand.NewPCG(1, 1)), [][]float32(nil)
	for range s.n {
		row := []float32{float32(r.NormFloat64()), float32(r.NormFloat64()), float32(r.NormFloat64())}
		rows = append(rows, row)
		s.file += fmt.Sprintf("%g,%g,%g\n", row[0], row[1], row[2])
	}
	s.all = func(ctx context.Context) ([]Decision, error) { return s.router.FeatureRows(ctx, rows) }
	s.single = func(ctx context.Context, i int) (Decision, error) { return s.router.Features(ctx, rows[i]) }
	return s
}

func textSample(t *testing.T, rt *ort.Runtime) *sample {
	model := hftest.Folder(t)
	texts := decidetest.Texts(30)
	centre := meanVector(t, rt, model, texts)
	path := decidetest.EncoderPolicy(t, t.TempDir(), hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, "", centre...)
	s := &sample{router: opened(t, rt, path, model), n: len(texts), file: "claim\n", stream: StreamOptions{Policy: storage.File(path), Encoder: model, Text: "claim"}}
	for _, text := range texts {
		s.file += strconv.Quote(text) + "\n"
	}
	s.all = func(ctx context.Context) ([]Decision, error) { return s.router.Texts(ctx, texts) }
	s.single = func(ctx context.Context, i int) (Decision, error) { return s.router.Text(ctx, texts[i]) }
	return s
}

// meanVector is the mean of the vectors of texts.
func meanVector(t *testing.T, rt *ort.Runtime, model string, texts []string) []float32 {
	t.Helper()
	e, err := featurize.OpenTextEncoder(rt, model, featurize.DefaultTextEncoderOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	vectors, mean := make([]float32, len(texts)*e.Dim()), make([]float32, e.Dim())
	if err := e.Encode(t.Context(), vectors, texts); err != nil {
		t.Fatal(err)
	}
	for i, v := range vectors {
		mean[i%len(mean)] += v / float32(len(texts))
	}
	return mean
}

func imageSample(t *testing.T, rt *ort.Runtime) *sample {
	dir, model := t.TempDir(), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	path := decidetest.EncoderPolicy(t, t.TempDir(), 12, costs.FeatureSource{Name: "image clip", Dim: 12}, "")
	names, _ := decidetest.Pictures(t, dir, 10)
	s := &sample{router: opened(t, rt, path, model), n: len(names), file: "file\n", stream: StreamOptions{Policy: storage.File(path), Encoder: model, Image: "file"}}
	var files [][]byte
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
		s.file += filepath.Join(dir, name) + "\n"
	}
	s.all = func(ctx context.Context) ([]Decision, error) { return s.router.Images(ctx, files) }
	s.single = func(ctx context.Context, i int) (Decision, error) { return s.router.Image(ctx, files[i]) }
	return s
}

func rowSample(t *testing.T, rt *ort.Runtime) *sample {
	dir := t.TempDir()
	encoder := filepath.Join(dir, "encoder.json")
	if err := decidetest.WriteTable(encoder); err != nil {
		t.Fatal(err)
	}
	path := decidetest.EncoderPolicy(t, dir, decidetest.TableDim, costs.FeatureSource{Name: "groups base", Dim: decidetest.TableDim}, "")
	s := &sample{router: opened(t, rt, path, encoder), n: 30, file: "n-1,amount,other\n", stream: StreamOptions{Policy: storage.File(path), Encoder: encoder}}
	r, rows := rand.New(rand.NewPCG(2, 2)), []map[string]string(nil)
	for range s.n {
		row := map[string]string{"n-1": []string{"x", "7", "new", ""}[r.IntN(4)], "amount": fmt.Sprint(r.IntN(900)), "other": "z"}
		rows = append(rows, row)
		s.file += fmt.Sprintf("%s,%s,z\n", row["n-1"], row["amount"])
	}
	s.all = func(ctx context.Context) ([]Decision, error) { return s.router.Rows(ctx, rows) }
	s.single = func(ctx context.Context, i int) (Decision, error) { return s.router.Row(ctx, rows[i]) }
	return s
}

// For every kind of input, the decisions are the same in memory, one by one or together, and in a stream.
func TestRouterDecidesAsTheStreamDoes(t *testing.T) {
	rt := orttest.Open(t, 1)
	for input, s := range samples(t, rt) {
		if s.router.Input() != input {
			t.Errorf("the router decides on %s, want %s", s.router.Input(), input)
		}
		all, err := s.all(t.Context())
		if err != nil || len(all) != s.n {
			t.Fatalf("%s: %d decisions, %v", input, len(all), err)
		}
		chosen := map[int]bool{}
		streamed := streamRows(t, rt, s)
		for i, d := range all {
			one, err := s.single(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d, one); diff != "" {
				t.Errorf("%s %d alone (-together +alone):\n%s", input, i, diff)
			}
			if diff := cmp.Diff(d, streamed[i]); diff != "" {
				t.Errorf("%s %d in a stream (-memory +stream):\n%s", input, i, diff)
			}
			chosen[d.Action] = true
		}
		if len(chosen) < 2 {
			t.Errorf("%s: the sample says little: only pair %v is chosen", input, chosen)
		}
	}
}

// streamRows reads decisions written by Stream.
func streamRows(t *testing.T, rt *ort.Runtime, s *sample) []Decision {
	t.Helper()
	o := s.stream
	o.In, o.InFormat, o.Out, o.OutFormat, o.Workers, o.Scores = storage.File("-"), "csv", storage.File("-"), "csv", 2, true
	var out bytes.Buffer
	if _, err := Stream(t.Context(), rt, o, strings.NewReader(s.file), &out, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []Decision
	number := func(text string) int {
		v, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, r := range records[1:] {
		d := Decision{Action: number(r[1]), Expert: r[2], Advice: r[3], ExpertIndex: number(r[4]), AdviceIndex: number(r[5])}
		for _, text := range r[6:] {
			v, err := strconv.ParseFloat(text, 32)
			if err != nil {
				t.Fatal(err)
			}
			d.Scores = append(d.Scores, float32(v))
		}
		all = append(all, d)
	}
	return all
}

// Routers are shared by goroutines and closed while these run: a call gives the same decisions as a single call, or
// ends with ort.ErrClosed.
func TestRouterIsSharedAndClosedWhileItRuns(t *testing.T) {
	rt := orttest.Open(t, 1)
	for input, s := range samples(t, rt) {
		want, err := s.all(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for g := range 4 {
			calls.Go(func() {
				for i := g; ; i = (i + 1) % s.n {
					d, err := s.single(t.Context(), i)
					if errors.Is(err, ort.ErrClosed) {
						return
					}
					if err != nil || d.Action != want[i].Action || !slices.Equal(d.Scores, want[i].Scores) {
						t.Errorf("%s %d: %+v, %v", input, i, d, err)
						return
					}
				}
			})
		}
		if _, err := s.all(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := s.router.Close(); err != nil {
				t.Error(err)
			}
		}
		calls.Wait()
		if _, err := s.single(t.Context(), 0); !errors.Is(err, ort.ErrClosed) {
			t.Errorf("%s after Close: %v", input, err)
		}
	}
}

// TestRoutersThatCannotDecide: one that Open did not make, and one that is closed.
func TestRoutersThatCannotDecide(t *testing.T) {
	ctx, rt := t.Context(), orttest.Open(t, 1)
	asks := map[string]func(r *Router) error{
		"features":    func(r *Router) error { _, err := r.Features(ctx, []float32{1, 2, 3}); return err },
		"no features": func(r *Router) error { _, err := r.FeatureRows(ctx, nil); return err },
		"no texts":    func(r *Router) error { _, err := r.Texts(ctx, nil); return err },
		"text":        func(r *Router) error { _, err := r.Text(ctx, "a"); return err },
		"image":       func(r *Router) error { _, err := r.Image(ctx, nil); return err },
		"row":         func(r *Router) error { _, err := r.Row(ctx, nil); return err },
	}
	zero := &Router{}
	if zero.Close() != nil || zero.Info() != nil || zero.Input() != "" || zero.Columns() != nil || zero.Ranked(Decision{}) != nil {
		t.Error("the zero router is about a policy")
	}
	if _, err := zero.Without(Decision{}, policy.Expert("a")); err == nil {
		t.Error("the zero router decides again")
	}
	for name, ask := range asks {
		if err := ask(zero); err == nil || !strings.Contains(err.Error(), "was not made by Open") {
			t.Errorf("zero router, %s: %v", name, err)
		}
	}
	for input, s := range samples(t, rt) {
		if err := s.router.Close(); err != nil {
			t.Fatal(err)
		}
		for name, ask := range asks {
			if err := ask(s.router); !errors.Is(err, ort.ErrClosed) {
				t.Errorf("closed router of %s, %s: %v", input, name, err)
			}
		}
	}
}

// TestTextIsUTF8: as in files.
func TestTextIsUTF8(t *testing.T) {
	all, ctx := samples(t, orttest.Open(t, 1)), t.Context()
	_, texts := all[InputText].router.Texts(ctx, []string{"fine", "\xff\xfe"})
	_, rows := all[InputRow].router.Rows(ctx, []map[string]string{{"amount": "1"}, {"amount": "1\xff"}})
	for _, err := range []error{texts, rows} {
		var bad *RowError
		if !errors.As(err, &bad) || bad.Row != 1 || !strings.Contains(err.Error(), "UTF-8") || !strings.HasPrefix(err.Error(), "decide: ") {
			t.Errorf("error %v, want one about the text of row 1", err)
		}
	}
	if _, err := all[InputRow].router.Row(ctx, map[string]string{"amount": "1", "unused": "\xff"}); err != nil {
		t.Errorf("a column that the policy does not use: %v", err)
	}
}

// TestUnknownDecoder is refused by routers that decode no image, too.
func TestUnknownDecoder(t *testing.T) {
	path := decidetest.WritePolicy(t, decidetest.Policy(3, 4))
	var bad *stage.OptionError
	if _, err := Open(t.Context(), path, Options{Decoder: "nonsense", Runtime: orttest.Open(t, 1)}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "known are standard") {
		t.Errorf("error %v, want one about the decoder", err)
	}
}

// TestStreamNeedsItsStreams, a runtime, and no progress.
func TestStreamNeedsItsStreams(t *testing.T) {
	rt, ctx := orttest.Open(t, 1), t.Context()
	o := DefaultStreamOptions()
	o.Policy = storage.File(decidetest.WritePolicy(t, decidetest.Policy(3, 4)))
	if _, err := Stream(ctx, nil, o, strings.NewReader(""), io.Discard, nil); !errors.Is(err, ort.ErrNoRuntime) {
		t.Errorf("no runtime: %v", err)
	}
	if _, err := Stream(ctx, rt, o, nil, io.Discard, nil); err == nil || !strings.Contains(err.Error(), "standard input") {
		t.Errorf("no standard input: %v", err)
	}
	if _, err := Stream(ctx, rt, o, strings.NewReader(""), nil, nil); err == nil || !strings.Contains(err.Error(), "standard output") {
		t.Errorf("no standard output: %v", err)
	}
	rows := "f0,f1,f2\n1,2,3\n"
	if sum, err := Stream(ctx, rt, o, strings.NewReader(rows), io.Discard, nil); err != nil || sum.Rows != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestRouterErrorsAreTyped(t *testing.T) {
	rt := orttest.Open(t, 1)
	all := samples(t, rt)
	ctx := t.Context()
	asked := map[string]func(r *Router) error{
		InputText:  func(r *Router) error { _, err := r.Text(ctx, "a"); return err },
		InputImage: func(r *Router) error { _, err := r.Image(ctx, nil); return err },
		InputRow:   func(r *Router) error { _, err := r.Row(ctx, map[string]string{"amount": "1"}); return err },
	}
	for takes, s := range all {
		for given, ask := range asked {
			var wrong *InputError
			if err := ask(s.router); given != takes && (!errors.As(err, &wrong) || wrong.Takes != takes || wrong.Given != given) {
				t.Errorf("a router of %s asked about a %s: %v", takes, given, err)
			}
		}
	}
	features, rows, images := all[InputFeatures].router, all[InputRow].router, all[InputImage].router
	for name, call := range map[string]func() error{
		"width": func() error { _, err := features.FeatureRows(ctx, [][]float32{{1, 2, 3}, {1, 2}}); return err },
		"NaN": func() error {
			_, err := features.FeatureRows(ctx, [][]float32{{1, 2, 3}, {1, 2, float32(math.NaN())}})
			return err
		},
		"number": func() error {
			_, err := rows.Rows(ctx, []map[string]string{{"amount": "1"}, {"amount": "many"}})
			return err
		},
		"columns": func() error { _, err := rows.Rows(ctx, []map[string]string{{"amount": "1"}, {"sum": "1"}}); return err },
		"two ways": func() error {
			_, err := rows.Rows(ctx, []map[string]string{{"amount": "1"}, {"n-1": "x", "n_1": "7"}})
			return err
		},
		"image": func() error { _, err := images.Images(ctx, [][]byte{decidetest.PNG(), []byte("none")}); return err },
	} {
		var bad *RowError
		if err := call(); !errors.As(err, &bad) || bad.Row != 1 || !strings.HasPrefix(err.Error(), "decide: ") {
			t.Errorf("%s: %v is not an error about row 1", name, err)
		}
	}
	if d, err := features.FeatureRows(ctx, nil); err != nil || len(d) != 0 {
		t.Errorf("no rows: %v, %v", d, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := all[InputText].router.Text(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// The encoder is compared with the policy when a router is opened.
func TestOpenRefusesAnotherEncoder(t *testing.T) {
	rt, dir := orttest.Open(t, 1), t.TempDir()
	model, table := hftest.Folder(t), filepath.Join(dir, "encoder.json")
	if err := decidetest.WriteTable(table); err != nil {
		t.Fatal(err)
	}
	source := func(name string, dim int) costs.FeatureSource { return costs.FeatureSource{Name: name, Dim: dim} }
	for name, c := range map[string]struct {
		dim      int
		features costs.FeatureSource
		digest   string
		encoder  string
	}{
		"digest of texts":  {hftest.Hidden, source("text small", hftest.Hidden), "sha256:00", model},
		"width of texts":   {3, source("", 0), "", model},
		"images, not text": {hftest.Hidden, source("image clip", hftest.Hidden), "", model},
		"digest of rows":   {decidetest.TableDim, source("groups base", decidetest.TableDim), "sha256:00", table},
		"width of rows":    {3, source("groups base", 3), "", table},
		"other group":      {decidetest.TableDim, source("groups more", decidetest.TableDim), "", table},
	} {
		path := decidetest.EncoderPolicy(t, t.TempDir(), c.dim, c.features, c.digest)
		var option *stage.OptionError
		if r, err := Open(t.Context(), path, Options{Encoder: c.encoder, Runtime: rt}); !errors.As(err, &option) {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	var data *costs.DataError
	if _, err := Open(t.Context(), table, Options{Runtime: rt}); !errors.As(err, &data) {
		t.Errorf("a file that is not a policy: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "absent.onnx"), Options{Runtime: rt}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A router that opened its own runtime works as well as one that was given one.
func TestRouterOpensARuntime(t *testing.T) {
	orttest.Open(t, 1)
	r, err := Open(t.Context(), decidetest.WritePolicy(t, decidetest.Policy(2, 3)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Features(t.Context(), []float32{1, 2}); err != nil {
		t.Error(err)
	}
	if r.Digest() == "" {
		t.Error("the policy has no digest")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A program that only decides links only what deciding needs.
func TestDecidingLinksNoBuilderAndNoPlots(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "pipe/models/policy") {
		t.Fatalf("only %d packages are listed", len(linked))
	}
	for _, name := range linked {
		for _, unwanted := range []string{"/build", "/builder", "/chat", "/bm25", "/retrieval", "/lightgbm", "/auto", "/paper", "cobra", "gonum", "pipe/pipeline/report", "pipe/bench"} {
			if own := strings.HasPrefix(name, "pipe/") || strings.Contains(strings.SplitN(name, "/", 2)[0], "."); own && strings.Contains(name, unwanted) {
				t.Errorf("%s is linked", name)
			}
		}
		if name == "pipe/models" || name == "pipe/pipeline" {
			t.Errorf("%s is linked", name)
		}
	}
}
