// Package decidetest makes policies with random weights, and texts and pictures for them, for tests.
package decidetest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// Policy has three experts, two pieces of advice beside none, and one hidden layer.
func Policy(dim, hidden int) *policy.Policy {
	rng := rand.New(rand.NewPCG(1, 2))
	layer := func(out, in int) network.Affine {
		a := network.Affine{Out: out, In: in, W: make([]float32, out*in), B: make([]float32, out)}
		for i := range a.W {
			a.W[i] = float32(rng.NormFloat64()) / 4
		}
		return a
	}
	return &policy.Policy{
		Actions: &costs.Actions{
			Experts: []costs.Expert{{Name: "a, or b"}, {Name: `"quoted"`}, {Name: "c"}},
			Advice:  []costs.Advice{{Name: "none"}, {Name: "short", Fee: 0.1}, {Name: "long", Fee: 0.2}},
		},
		Method: "ours", Recipe: "paper", Lambda: 1, Tau: 1, Decoder: policy.DecoderComposite,
		Members: []network.MLP{{Layers: []network.Affine{layer(hidden, dim), layer(9, hidden)}}},
	}
}

// AnyPrice has the actions of Policy, of which "quoted"/long does not exist. It estimates losses by a linear map, and can
// decide at any price.
func AnyPrice(dim int) *policy.Policy {
	rng, pairs := rand.New(rand.NewPCG(3, 4)), 9
	a := network.Affine{Out: pairs, In: dim, W: make([]float32, pairs*dim), B: make([]float32, pairs)}
	for i := range a.W {
		a.W[i] = float32(rng.NormFloat64()) / 4
	}
	p, constant := Policy(dim, 1), make([]float64, pairs)
	for i := range a.B {
		a.B[i] = 0.5
		constant[i] = 0.5 + 0.01*float64(i)
	}
	p.Actions.Unavailable = []costs.Pair{{Expert: 1, Advice: 2}}
	for j := range p.Actions.Experts {
		p.Actions.Experts[j].Fee = 0.1
	}
	p.Decoder, p.Members, p.Dim, p.Method, p.Recipe = policy.DecoderEstimate, nil, dim, "auto", "auto"
	r := policy.DefaultPriceRange()
	p.Estimate = &policy.Estimate{
		Blend:    estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.Linear{Affine: a}}}},
		Constant: constant, Margin: 0.01, Prices: &r,
	}
	return p
}

// WritePolicy writes a policy file and returns its path.
func WritePolicy(t testing.TB, p *policy.Policy) string {
	t.Helper()
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "policy.onnx")
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Guarded is the file of a policy with a guarantee at lambda 1: it accepts pairs with an expected loss of at most 0.35. change may be nil.
func Guarded(t testing.TB, p *policy.Policy, change func(*policy.Guarantee)) *onnx.Model {
	t.Helper()
	threshold := float64(float32(0.35))
	g := policy.Guarantee{
		Risk: 0.2, Confidence: 0.95, Method: "ltt", Bound: 1, Threshold: &threshold, Split: "val", Rows: 1000,
		At: []policy.GuaranteedPrice{{Lambda: 1, Accepted: 0.5, Samples: 500}}, Instead: policy.Instead{Name: policy.Abstain},
	}
	if change != nil {
		change(&g)
	}
	m, err := p.Export()
	if err == nil {
		m, err = policy.WithGuarantee(m, g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// EncoderPolicy writes the policy of WriteEncoderPolicy into dir, and returns its path.
func EncoderPolicy(t testing.TB, dir string, dim int, features costs.FeatureSource, digest string, centre ...float32) string {
	t.Helper()
	path := filepath.Join(dir, "policy.onnx")
	if err := WriteEncoderPolicy(path, dim, features, digest, centre...); err != nil {
		t.Fatal(err)
	}
	return path
}

// WriteEncoderPolicy writes a policy with random weights over vectors of an encoder: experts small and large, advice
// none and search. features names the vectors, and digest identifies what made them. If centre is given, the actions
// are equally good around it.
func WriteEncoderPolicy(path string, dim int, features costs.FeatureSource, digest string, centre ...float32) error {
	actions := &costs.Actions{
		Experts:  []costs.Expert{{Name: "small", Fee: 0.01}, {Name: "large", Fee: 0.05}},
		Advice:   []costs.Advice{{Name: "none"}, {Name: "search", Fee: 0.02}},
		Features: features,
	}
	actions.Digests = map[string]string{costs.DecoderDigest: "another"}
	if digest != "" {
		actions.Digests[costs.FeatureDigest] = digest
	}
	r, layer := rand.New(rand.NewPCG(5, 5)), network.Affine{Out: 4, In: dim, B: make([]float32, 4)}
	for range 4 * dim {
		layer.W = append(layer.W, float32(r.NormFloat64()))
	}
	for i, c := range centre {
		for k := range 4 {
			layer.B[k] -= layer.W[k*dim+i] * c
		}
	}
	p := &policy.Policy{
		Actions: actions, Method: "ours", Recipe: "paper", Lambda: 1, Tau: 1, Decoder: policy.DecoderComposite,
		Members: []network.MLP{{Layers: []network.Affine{layer}}}, Info: map[string]string{"note": "kept"},
	}
	m, err := p.Export()
	if err != nil {
		return err
	}
	return m.WriteFile(path)
}

// TableDim is the number of features of the encoder of WriteTable, which are those of the column group base.
const TableDim = 7

// WriteTable writes the encoder of a table with columns amount, when and n_1 and the id column key.
func WriteTable(path string) error { return os.WriteFile(path, []byte(Table), 0o666) }

// Table is the encoder of a table with a number, a time and a category of two levels.
const Table = `{"format": 1, "id": "key", "label": "bad", "labels": ["0", "1"], "rows": 4, "groups": [{"name": "base"}], "columns": [
	{"name": "amount", "group": 0, "kind": "number", "mean": 2, "std": 3, "log": true}, {"name": "when", "group": 0, "kind": "time", "std": 1},
	{"name": "n_1", "group": 0, "kind": "category", "levels": ["x", "7"]}]}`

// Texts draws texts of letters.
func Texts(n int) []string {
	r, texts := rand.New(rand.NewPCG(8, 8)), make([]string, n)
	for i := range texts {
		for range 1 + r.IntN(12) {
			texts[i] += string("abcd fghij"[r.IntN(10)])
		}
	}
	return texts
}

// EncodeImages opens the encoder of images of a model and encodes pictures with it.
func EncodeImages(t testing.TB, rt *ort.Runtime, model string, images []*pixel.Image) (info featurize.EncoderInfo, pixels []uint8, features []float32) {
	t.Helper()
	m, err := featurize.ReadImageModel(model, featurize.DefaultImageModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.Open(rt, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	features = make([]float32, len(images)*e.Dim())
	if err := e.Encode(t.Context(), features, images); err != nil {
		t.Fatal(err)
	}
	p := e.Preprocess()
	pixels = make([]uint8, len(images)*p.Len())
	for i, img := range images {
		prepared, err := p.Prepare(img, []pixel.View{pixel.Centre()})
		if err == nil {
			err = prepared.Pixels(pixels[i*p.Len():(i+1)*p.Len()], pixel.Centre())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return m.Info(), pixels, features
}

// Pictures writes drawn PNG files of several sizes, and returns their names and their pixels.
func Pictures(t testing.TB, dir string, n int) (names []string, images []*pixel.Image) {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	for i := range n {
		img := image.NewNRGBA(image.Rect(0, 0, 33+r.IntN(40), 32+r.IntN(50)))
		from, to := [3]int{r.IntN(256), r.IntN(256), r.IntN(256)}, [3]int{r.IntN(256), r.IntN(256), r.IntN(256)}
		for y := range img.Rect.Dy() {
			for x := range img.Rect.Dx() {
				at := func(c int) uint8 { return uint8(from[c] + (to[c]-from[c])*(x*y%97)/97) }
				img.SetNRGBA(x, y, color.NRGBA{R: at(0), G: at(1), B: at(2), A: 255})
			}
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		decoded, err := pixel.Decode(b.Bytes())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), b.Bytes(), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		names, images = append(names, fmt.Sprintf("%d.png", i)), append(images, decoded)
	}
	return names, images
}

// PNG is the file of a small picture whose colours change from side to side.
func PNG() []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 48, 40))
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			img.SetNRGBA(x, y, color.NRGBA{R: uint8(5 * x), G: uint8(6 * y), B: 90, A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer accepts everything
	}
	return b.Bytes()
}
