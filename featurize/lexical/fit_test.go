package lexical

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/featurize/tokenizer"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// generated are texts of words that few or many texts have, of several scripts.
func generated(seed uint64, n int) []string {
	r := rand.New(rand.NewPCG(seed, 7))
	alphabets := [][]rune{[]rune("etaoinshrdlucmf"), []rune("абвгдеиклмнорст"), []rune("的一是不了人我在有他这"), []rune("0123456789"), []rune("éàüßñøåçğı")}
	words := make([]string, 400)
	for i := range words {
		letters := alphabets[min(len(alphabets)-1, int(r.ExpFloat64()))]
		for range 1 + r.IntN(7) {
			words[i] += string(letters[r.IntN(len(letters))])
		}
	}
	texts := make([]string, n)
	for i := range texts {
		var list []string
		for range 3 + r.IntN(25) {
			list = append(list, words[min(len(words)-1, int(60*r.ExpFloat64()))])
		}
		texts[i] = strings.Join(list, " ") + []string{".", "?", "", "!?", " ```go x ```"}[r.IntN(5)]
	}
	return texts
}

// hard are texts that are not like those of generated.
var hard = []string{
	"", " ", "\n\t", "\x00\x01", "\xff\xfe", "a", "zzqxj", "e", "Et TA oin", "[CLS] [UNK] [PAD]", "##eta ## #", "👩\u200d👩\u200d👧 🇩🇪", "ﬁ ﬂ ① ㎏ Å", "\u0130\u0131\u1e9e ς",
	"a\u0301\u0323 é e\u0301", strings.Repeat("eta ", 5000), strings.Repeat("x", 5000), strings.Repeat("?", 700), "的一是不了人我在有他这的一是", "العربية עברית ไทย हिन्दी", "3,141.59 1e-9",
	"\u202eabc\u202c", "�", "\U0010ffff\ue000",
}

func small() Options {
	o := DefaultOptions()
	o.Dim, o.MaxLength, o.MaxWords, o.MaxGrams, o.MaxPieces = 12, 40, 150, 600, 500
	return o
}

func mustFit(t testing.TB, texts []string, o Options) *Model {
	t.Helper()
	m, err := Fit(t.Context(), texts, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// bytesOf is everything that an encoder's file is made of.
func bytesOf(t testing.TB, m *Model) string {
	t.Helper()
	b, err := m.Graph.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + string(m.Tokenizer)
}

// runner runs the graph.
type runner struct {
	m *Model
	t *tokenizer.Tokenizer
	s *ort.Session
}

func open(t testing.TB, m *Model) *runner {
	t.Helper()
	b, err := m.Graph.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	rt := orttest.Open(t, 0)
	s, err := rt.Session(b, rt.SessionOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	tok, err := tokenizer.Parse(m.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	return &runner{m, tok, s}
}

func (r *runner) ids(text string) []int32 {
	return r.t.Encode(text, tokenizer.Options{Special: true, MaxLength: r.m.MaxLength}).IDs
}

// run returns the vector of ids, of which the first are not padding.
func (r *runner) run(t testing.TB, ids []int32, used int) []float32 {
	t.Helper()
	wide, mask := make([]int64, len(ids)), make([]int64, len(ids))
	for i, id := range ids {
		wide[i] = int64(id)
		if i < used {
			mask[i] = 1
		}
	}
	shape := []int64{1, int64(len(ids))}
	out, err := r.s.Run(context.Background(), map[string]*onnx.Tensor{"input_ids": onnx.Int64s(shape, wide), "attention_mask": onnx.Int64s(shape, mask)})
	if err != nil {
		t.Fatal(err)
	}
	return out[hf.SentenceEmbedding].Float32s()
}

func (r *runner) vector(t testing.TB, text string) []float32 {
	ids := r.ids(text)
	return r.run(t, ids, len(ids))
}

// tableOf is a constant of the graph.
func tableOf(t testing.TB, m *Model, name string) []float32 {
	t.Helper()
	for _, p := range m.Graph.Proto.GetGraph().GetInitializer() {
		if p.GetName() == name {
			v, err := onnx.TensorFrom(p)
			if err != nil {
				t.Fatal(err)
			}
			return v.Float32s()
		}
	}
	t.Fatalf("the graph has no constant %s", name)
	return nil
}

// reference is the vector without facts, by the definition and in float64.
func reference(table []float32, dim int, ids []int32, sublinear bool) []float64 {
	counts := map[int32]float64{}
	for _, id := range ids {
		counts[id]++
	}
	sum, square := make([]float64, dim), 0.0
	for id, c := range counts {
		if sublinear {
			c = 1 + math.Log(c)
		}
		for i := range sum {
			sum[i] += c * float64(table[int(id)*dim+i])
		}
	}
	for _, v := range sum {
		square += v * v
	}
	for i := range sum {
		sum[i] /= max(math.Sqrt(square), 1e-12)
	}
	return sum
}

// far is the largest difference; NaN counts as infinite.
func far[A, B float32 | float64](a []A, b []B) float64 {
	worst := 0.0
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if !(d <= worst) {
			worst = d
		}
		if d != d {
			return math.Inf(1)
		}
	}
	return worst
}

// The graph computes what the documentation says, on any text.
func TestGraphIsTheDefinition(t *testing.T) {
	for _, sublinear := range []bool{false, true} {
		o := small()
		o.Sublinear = sublinear
		m := mustFit(t, generated(1, 300), o)
		r, table := open(t, m), tableOf(t, m, "tokens")
		for _, text := range slices.Concat(generated(1, 50), generated(2, 50), hard) {
			want := reference(table, o.Dim, r.ids(text), sublinear)
			if d := far(r.vector(t, text), want); !(d < 1e-5) {
				t.Errorf("%.40q is %g off", text, d)
			}
		}
	}
}

// Facts stand after the components, which they do not change.
func TestFactsAreTheDefinition(t *testing.T) {
	o, texts := small(), generated(1, 300)
	plain := open(t, mustFit(t, texts, o))
	o.Facts = true
	m := mustFit(t, texts, o)
	r := open(t, m)
	v, err := chooseTokens(slices.Sorted(slices.Values(texts)), o)
	if err != nil {
		t.Fatal(err)
	}
	encoded, _, err := encodeAll(t.Context(), texts, m.Tokenizer, o)
	if err != nil {
		t.Fatal(err)
	}
	f, limit := newFacts(encoded, v), factLimit/math.Sqrt(sums)
	for _, text := range slices.Concat(texts[:50], hard) {
		got := r.vector(t, text)
		if len(got) != m.Dim || m.Dim != o.Dim+len(FactNames) {
			t.Fatalf("%d elements, not %d", len(got), m.Dim)
		}
		if d := far(got[:o.Dim], plain.vector(t, text)); d > 1e-6 {
			t.Errorf("%.40q: components change by %g", text, d)
		}
		want := f.values(r.ids(text))
		for i := range want {
			want[i] = max(-limit, min(limit, (want[i]-f.mean[i])*f.scale[i]))
		}
		if d := far(got[o.Dim:], want[:]); !(d < 1e-5) {
			t.Errorf("%.40q: facts are %g off", text, d)
		}
	}
	square := 0.0
	for _, text := range texts {
		for _, x := range r.vector(t, text)[o.Dim:] {
			square += float64(x) * float64(x) / float64(len(texts))
		}
	}
	if math.Abs(square-1) > 0.1 {
		t.Errorf("facts have a mean squared length of %g, not 1 as the components", square)
	}
}

// Neither the order of the texts nor the number of workers changes a byte; a text counts as often as it is there.
func TestOrderOfTextsDoesNotMatter(t *testing.T) {
	texts, o := generated(3, 200), small()
	want := bytesOf(t, mustFit(t, texts, o))
	r := rand.New(rand.NewPCG(1, 1))
	r.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	o.Workers = 3
	if bytesOf(t, mustFit(t, texts, o)) != want {
		t.Error("another order gives another encoder")
	}
	if bytesOf(t, mustFit(t, append(texts, texts[0], texts[0]), o)) == want {
		t.Error("a repeated text does not count")
	}
}

// The seed starts the iteration, whose result does not depend on it.
func TestSeedsAgree(t *testing.T) {
	texts, o := generated(4, 400), small()
	a := mustFit(t, texts, o)
	o.Seed = 9
	b := mustFit(t, texts, o)
	if bytesOf(t, a) == bytesOf(t, b) {
		t.Error("the seed is not used")
	}
	if d := far(tableOf(t, a, "tokens"), tableOf(t, b, "tokens")); !(d < 1e-5) {
		t.Errorf("tables of two seeds are %g apart", d)
	}
}

// A text without anything known has the vector of an empty one, which is 0, and no text has one that is not finite.
func TestUnknownTextsAreZero(t *testing.T) {
	r := open(t, mustFit(t, generated(1, 300), small()))
	for _, text := range []string{"", " ", "ℵ ℶ", "\x00", "[PAD]"} {
		if v := r.vector(t, text); slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) && text != "[PAD]" {
			t.Errorf("%q has the vector %v", text, v)
		}
	}
	for _, text := range append(generated(99, 300), hard...) {
		length := 0.0
		for _, x := range r.vector(t, text) {
			length += float64(x) * float64(x)
		}
		if !(length < 1e-20 || math.Abs(length-1) < 1e-5) {
			t.Errorf("%.40q has a vector of squared length %g", text, length)
		}
	}
}

// A word that no text had is near the words that it is made of, because its pieces have n-grams of theirs.
func TestUnseenWordsHavePieces(t *testing.T) {
	texts := []string{}
	for _, s := range []string{"run", "runs", "running", "runner", "sing", "sings", "singer", "singing", "blue", "blues", "bluer", "bluest"} {
		texts = append(texts, s, s, s+" "+s)
	}
	o := small()
	o.Dim, o.MaxPieces = 8, 5000
	r := open(t, mustFit(t, texts, o))
	near := func(a, b string) (sum float64) {
		x, y := r.vector(t, a), r.vector(t, b)
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
		return sum
	}
	if like, unlike := near("runnings", "running"), near("runnings", "bluest"); !(like > 0.5 && like > unlike+0.3) {
		t.Errorf("runnings is %.2f like running, %.2f like bluest", like, unlike)
	}
}

// A text that is too long has the vector of its beginning; padding of any id changes nothing.
func TestLongTextsAndPadding(t *testing.T) {
	o := small()
	o.Facts = true
	m := mustFit(t, generated(1, 300), o)
	r := open(t, m)
	var words []string
	for _, text := range generated(1, 20) {
		words = append(words, strings.Fields(strings.Trim(text, "?!. `"))...)
	}
	all := r.t.Encode(strings.Join(words, " "), tokenizer.Options{Special: true}).IDs
	if len(all) <= o.MaxLength {
		t.Fatalf("only %d tokens", len(all))
	}
	want := r.vector(t, strings.Join(words, " "))
	if d := far(r.run(t, all[:o.MaxLength], o.MaxLength), want); d != 0 {
		t.Errorf("a cut text is %g off", d)
	}
	for _, used := range []int{1, 2, 17} {
		want := r.run(t, all[:used], used)
		if d := far(r.run(t, all[:used+20], used), want); !(d < 1e-6) {
			t.Errorf("padding with words changes a vector by %g", d)
		}
	}
}

func TestFitsThatCannotBe(t *testing.T) {
	texts := generated(1, 30)
	fit := func(texts []string, change func(o *Options)) error {
		o := small()
		change(&o)
		_, err := Fit(t.Context(), texts, o, nil)
		return err
	}
	var rank *RankError
	if err := fit(texts, func(o *Options) { o.Dim = 31 }); !errors.As(err, &rank) || rank.Rank != 30 {
		t.Errorf("more components than texts: %v", err)
	}
	twice := slices.Concat(texts[:10], texts[:10], texts[:10])
	if err := fit(twice, func(*Options) {}); !errors.As(err, &rank) || rank.Rank != 10 {
		t.Errorf("repeated texts: %v", err)
	}
	if err := fit(twice, func(o *Options) { o.Dim = 10 }); err != nil {
		t.Errorf("as many components as the rank: %v", err)
	}
	for _, none := range [][]string{nil, {"", " "}, {"one", "two"}} {
		if err := fit(none, func(o *Options) { o.MaxGrams = 0 }); !errors.Is(err, ErrNoTexts) {
			t.Errorf("%q: %v", none, err)
		}
	}
	// Only the first word of each is read, which is in no other text and has characters that no other has.
	late := []string{"\u0391\u0391 same same", "\u0416\u0416 same same"}
	if err := fit(late, func(o *Options) { o.Dim, o.MaxLength = 1, 2 }); !errors.Is(err, ErrNoTexts) || !strings.Contains(err.Error(), "first 2 tokens") {
		t.Errorf("words behind the limit: %v", err)
	}
	for _, change := range []func(o *Options){
		func(o *Options) { o.Dim = 0 }, func(o *Options) { o.MinTexts = 0 }, func(o *Options) { o.MaxGram = 1 }, func(o *Options) { o.MaxLength = 1 }, func(o *Options) { o.MaxWords = -1 },
	} {
		if err := fit(texts, change); err == nil || !strings.HasPrefix(err.Error(), "lexical: ") {
			t.Errorf("bad options: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fit(ctx, texts, small(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
