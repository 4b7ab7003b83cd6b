package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/internal/digest"
)

var claimLabels = []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}

// wordsEncoder is an encoder for tests: every word has a direction, a text goes
// the way of all its words. It remembers what it was asked for.
type wordsEncoder struct {
	mu    sync.Mutex
	calls int
	asked []string
	name  string        // tells it from others
	limit int           // calls after which it fails; 0: none
	delay time.Duration // per call
}

var errTired = errors.New("the encoder is tired")

const wordsDim = 24

func (e *wordsEncoder) Name() string   { return "words" }
func (e *wordsEncoder) Dim() int       { return wordsDim }
func (e *wordsEncoder) Digest() string { return digest.Of([]byte("words " + e.name)) }
func (e *wordsEncoder) Close() error   { return nil }

func (e *wordsEncoder) Encode(_ context.Context, dst []float32, texts []string) error {
	time.Sleep(e.delay)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls++; e.limit > 0 && e.calls > e.limit {
		return errTired
	}
	e.asked = append(e.asked, texts...)
	for i, text := range texts {
		e.encode(dst[i*wordsDim:(i+1)*wordsDim], text)
	}
	return nil
}

func (e *wordsEncoder) encode(dst []float32, text string) {
	var sum [wordsDim]float64
	for _, word := range strings.Fields(strings.ToLower(text)) {
		h := fnv.New64a()
		h.Write([]byte(e.name + strings.Trim(word, ".")))
		r := rand.New(rand.NewPCG(h.Sum64(), 0))
		for i := range sum {
			sum[i] += r.NormFloat64()
		}
	}
	var length float64
	for _, v := range sum {
		length += v * v
	}
	for i, v := range sum {
		dst[i] = float32(v / math.Sqrt(length+1e-9))
	}
}

// use makes every build of the world encode texts with e.
func (e *wordsEncoder) use(w *world) *wordsEncoder {
	w.words = e
	return e
}

// newTextWorld writes n claims about the colours of things, and pages that tell
// whether two of three are right. Features are the vectors of the claims, one
// expert has answered them all.
func newTextWorld(t testing.TB, n int) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), cfg: DefaultConfig(), words: &wordsEncoder{}}
	claims, answers, pages := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	fmt.Fprintln(answers, "id,prediction")
	for i := range n {
		writeLine(t, claims, map[string]any{"id": i, "label": claimLabels[i%3], "claim": testClaim("Thing", i), "evidence": []any{}})
		fmt.Fprintf(answers, "%d,%s\n", i, claimLabels[i%2])
		if i%3 < 2 {
			writeLine(t, pages, map[string]any{"id": fmt.Sprintf("Page_%d", i), "text": testSentence("Thing", i), "lines": ""})
		}
	}
	w.write(t, "claims.jsonl", claims.String())
	w.write(t, "answers.csv", answers.String())
	w.write(t, "pages.jsonl", pages.String())
	w.cfg.Instances = Part{Kind: "fever", Settings: map[string]any{"file": "claims.jsonl"}}
	w.cfg.Labels = claimLabels
	w.cfg.Advice = []AdviceConfig{{Name: "none", Kind: "none"}}
	w.cfg.Experts = []ExpertConfig{{Name: "known", Kind: "precomputed", Settings: map[string]any{"file": "answers.csv", "prediction": "prediction"}}}
	w.cfg.Features = []Part{{Kind: "text", Settings: map[string]any{"encoder": "words"}}}
	w.cfg.Shard, w.cfg.Batch, w.cfg.Workers = 16, 8, 2
	return w
}

// withEmbedding adds two levels of passages, n claims about other things to learn
// from, and an expert that does.
func (w *world) withEmbedding(t testing.TB, n int) *world {
	t.Helper()
	train := &strings.Builder{}
	fmt.Fprintln(train, ",claim,label,sentence")
	for i := range n {
		fmt.Fprintf(train, "%d,%s,%s,%s\n", i, testClaim("Item", 3*i+i%2), claimLabels[i%2], testSentence("Item", 3*i+i%2))
	}
	w.write(t, "train.csv", train.String())
	for _, top := range []int{1, 3} {
		w.cfg.Advice = append(w.cfg.Advice, AdviceConfig{
			Name: fmt.Sprintf("top-%d", top), Fee: 0.1, Kind: "passages", Settings: map[string]any{"pages": "pages.jsonl", "top": top},
		})
	}
	w.cfg.Experts = []ExpertConfig{{Name: "net", Kind: "embedding", Settings: map[string]any{
		"encoder": "words", "train": "train.csv", "pages": "pages.jsonl", "hidden": []int{16}, "epochs": 20, "batch": 64, "dropout": 0, "learning_rate": 0.01,
	}}}
	return w
}

func writeLine(t testing.TB, b *strings.Builder, v any) {
	t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(append(line, '\n'))
}

var claimColours = []string{"red", "green", "blue", "black"}

func testClaim(kind string, i int) string {
	return fmt.Sprintf("%s%d is %s.", kind, i, claimColours[i%4])
}

// testSentence settles a claim: it is right if i%3 is 0.
func testSentence(kind string, i int) string {
	return fmt.Sprintf("%s%d is %s %s .", kind, i, []string{"truly", "never"}[i%3], claimColours[i%4])
}
