package decide

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/featurize"
	"pipe/featurize/tokenizer"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

// Parts have every row once, are within the limits, and have texts of one length.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Prepared{n: rapid.IntRange(1, 40).Draw(t, "n")}
		images := rapid.Bool().Draw(t, "images")
		for range p.n {
			if images {
				p.pixels = append(p.pixels, []uint8{1})
			} else {
				p.tokens = append(p.tokens, tokenizer.Encoding{IDs: make([]int32, rapid.IntRange(1, 9).Draw(t, "length"))})
			}
		}
		rows, tokens := rapid.IntRange(1, 10).Draw(t, "rows"), rapid.IntRange(1, 200).Draw(t, "tokens")
		seen := make([]int, p.n)
		for _, part := range p.Parts(rows, tokens) {
			if n := part.Rows(); n > 1 && (n > rows || part.Tokens() > tokens) {
				t.Fatalf("a part of %d rows and %d tokens", n, part.Tokens())
			}
			if part.At == nil {
				part.At = make([]int, p.n)
				for i := range part.At {
					part.At[i] = i
				}
			}
			for i, at := range part.At {
				seen[at]++
				if !images && (len(part.tokens[i].IDs) != part.Length() || !reflect.DeepEqual(part.tokens[i], p.tokens[at])) {
					t.Fatal("a text of another length or position")
				}
			}
		}
		if slices.Min(seen) != 1 || slices.Max(seen) != 1 {
			t.Fatalf("rows are in parts %v times", seen)
		}
	})
}

// What is prepared before and encoded together has the features of the calls that do both.
func TestPreparedFeatures(t *testing.T) {
	rt := orttest.Open(t, 1)
	texts, images := textSample(t, rt).router, imageSample(t, rt).router
	list := decidetest.Texts(9)
	want, err := texts.EncodeTexts(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	first, err1 := texts.PrepareTexts(t.Context(), list[:4])
	second, err2 := texts.PrepareTexts(t.Context(), list[4:])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if got, err := texts.EncodePrepared(t.Context(), first, second); err != nil || !slices.Equal(got, want) {
		t.Errorf("texts: %v, %v; want %v", got, err, want)
	}
	files := [][]byte{decidetest.PNG(), decidetest.PNG(), decidetest.PNG()}
	if want, err = images.EncodeImages(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	pixels, err := images.PrepareImages(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := images.EncodePrepared(t.Context(), pixels); err != nil || !slices.Equal(got, want) {
		t.Errorf("images: %v, %v; want %v", got, err, want)
	}
	var row *RowError
	if _, err := images.PrepareImages(t.Context(), [][]byte{files[0], []byte("x")}); !errors.As(err, &row) || row.Row != 1 {
		t.Errorf("a broken image: %v", err)
	}
	if _, err := texts.PrepareTexts(t.Context(), []string{"a", "b", "\xff"}); !errors.As(err, &row) || row.Row != 2 {
		t.Errorf("a text that is none: %v", err)
	}
	var input *InputError
	if _, err := texts.PrepareImages(t.Context(), files); !errors.As(err, &input) {
		t.Errorf("images for texts: %v", err)
	}
}

// Together decides as Batch does, at the prices of each call.
func TestTogetherAtPrices(t *testing.T) {
	path := decidetest.WritePolicy(t, decidetest.AnyPrice(5))
	rt := orttest.Open(t, 1)
	base := opened(t, rt, path, "")
	lambda := 3.0
	change := policy.PriceChange{Lambda: &lambda, Fees: []policy.Fee{{Of: policy.Expert("c"), Amount: 0.7}}, Without: []policy.Part{policy.Advice("long")}}
	other, err := Open(t.Context(), path, Options{Runtime: rt, Prices: change})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r, x := rand.New(rand.NewPCG(1, 2)), make([]float32, 20)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	at, err := base.Info().Price(change)
	if err != nil {
		t.Fatal(err)
	}
	prices, finish := base.At(at)
	asks := []*Ask{{Features: x, Rows: 4}, {Features: x, Rows: 4, Prices: prices}}
	base.Together(t.Context(), asks)
	for i, router := range []*Router{base, other} {
		want, err := router.Batch(t.Context(), x, 4)
		if err != nil || asks[i].Err != nil || !reflect.DeepEqual(asks[i].Answer.Action, want.Action) || !reflect.DeepEqual(asks[i].Answer.Cost, want.Cost) || finish != nil {
			t.Errorf("call %d: %+v, %v; want %+v, %v", i, asks[i].Answer, asks[i].Err, want, err)
		}
	}
	if err := base.Close(); err != nil {
		t.Fatal(err)
	}
	base.Together(t.Context(), asks)
	if !errors.Is(asks[0].Err, ort.ErrClosed) || asks[1].Answer != nil {
		t.Errorf("a closed router: %v", asks[0].Err)
	}
}

// A policy in memory is the one of its file; one that keeps data in another file is refused.
func TestParsePolicy(t *testing.T) {
	path := decidetest.WritePolicy(t, decidetest.Policy(5, 300))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err1 := ParsePolicy(path, content)
	g, err2 := ReadPolicy(t.Context(), storage.File(path))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	a, err1 := f.Digest()
	if b, err2 := g.Digest(); a != b || errors.Join(err1, err2) != nil || !reflect.DeepEqual(f.Info, g.Info) {
		t.Errorf("digests %s and %s", a, b)
	}
	var data *costs.DataError
	if _, err := ParsePolicy("p.onnx", content[:len(content)/2]); !errors.As(err, &data) || !strings.Contains(err.Error(), "p.onnx") {
		t.Errorf("half a policy: %v", err)
	}
	m, err := onnx.Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(t.TempDir(), "large.onnx")
	if err := m.WriteExternal(large, 100); err != nil {
		t.Fatal(err)
	}
	if content, err = os.ReadFile(large); err != nil {
		t.Fatal(err)
	}
	if _, err := ParsePolicy(large, content); !errors.As(err, &data) || !strings.Contains(err.Error(), "another file") {
		t.Errorf("a policy in two files: %v", err)
	}
}

// Policies share an encoder when it has the same content or name, and a router leaves a shared one open.
func TestSharedEncoder(t *testing.T) {
	rt, model := orttest.Open(t, 1), hftest.Folder(t)
	dir := t.TempDir()
	path := decidetest.EncoderPolicy(t, dir, hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, "")
	f, err := ReadPolicy(t.Context(), storage.File(path))
	if err != nil {
		t.Fatal(err)
	}
	m, err := featurize.ReadTextModel(model, featurize.DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := m.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	merged := filepath.Join(dir, "merged.onnx")
	both, err := f.Behind(encoder, m.Info())
	if err == nil {
		err = both.WriteFile(merged)
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := ReadPolicy(t.Context(), storage.File(merged))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file *PolicyFile
		o    Options
	}{{f, Options{Encoder: model, Runtime: rt}}, {g, Options{Runtime: rt}}} {
		e, err := c.file.Encoder(t.Context(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		key, err := c.file.EncoderKey(t.Context(), c.o)
		if err != nil || key == "" {
			t.Fatalf("key %q, %v", key, err)
		}
		alone, err := OpenFile(t.Context(), c.file, c.o)
		if err != nil {
			t.Fatal(err)
		}
		defer alone.Close()
		want, err := alone.EncodeTexts(t.Context(), []string{"a text"})
		if err != nil {
			t.Fatal(err)
		}
		c.o.Shared = e
		for range 2 { // the second finds it open
			r, err := OpenFile(t.Context(), c.file, c.o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.EncodeTexts(t.Context(), []string{"a text"})
			if err := errors.Join(err, r.Close()); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v, %v; want %v", got, err, want)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	plain, err := ReadPolicy(t.Context(), storage.File(decidetest.WritePolicy(t, decidetest.Policy(3, 4))))
	if err != nil {
		t.Fatal(err)
	}
	if key, err := plain.EncoderKey(t.Context(), Options{}); key != "" || err != nil {
		t.Errorf("a policy without an encoder has the key %q, %v", key, err)
	}
}
