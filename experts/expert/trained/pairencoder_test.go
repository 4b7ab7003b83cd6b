package trained

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/embedding"
)

// wordsEmbedder is an embedder of words whose vectors lie in a folder of the test.
func wordsEmbedder(t *testing.T) *embedding.Embedder {
	t.Helper()
	e, err := embedding.New(t.Context(), &parttest.Words{}, t.TempDir(), "texts")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestPairEncoder checks what rows of claims and passages promise.
func TestPairEncoder(t *testing.T) {
	e := wordsEmbedder(t)
	c := &pairEncoder{e}
	row := func(t *rapid.T, claim string, passages ...string) []float32 {
		dst, list := make([]float32, c.Width()), make([]part.Passage, len(passages))
		for i, text := range passages {
			list[i].Text = text
		}
		if err := c.Encode(context.Background(), dst, []part.Instance{{Text: claim}}, [][]part.AdvicePayload{nil, {{Passages: list}}}); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	const d = parttest.WordsDim
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{1,3}( [a-z]{1,3})?`)
		claim, passages := word.Draw(t, "claim"), rapid.SliceOfN(word, 1, 5).Draw(t, "passages")
		alone, shown := row(t, claim), row(t, claim, passages...)
		if i := slices.IndexFunc(alone[d:], func(v float32) bool { return v != 0 }); i >= 0 {
			t.Fatalf("without passages column %d is %v", d+i, alone[d+i])
		}
		if !slices.Equal(alone[:d], shown[:d]) {
			t.Fatal("passages change the claim")
		}
		mean := make([]float64, d)
		for _, text := range passages {
			for i, v := range row(t, claim, text)[d : 2*d] {
				mean[i] += float64(v) / float64(len(passages))
			}
		}
		for i, e := range mean {
			a := float64(shown[i])
			for at, want := range map[int]float64{d + i: e, 2*d + i: a * e, 3*d + i: math.Abs(a - e)} {
				if math.Abs(float64(shown[at])-want) > 1e-5 {
					t.Fatalf("column %d is %v, want %v", at, shown[at], want)
				}
			}
		}
		if shown[4*d] != 1 || shown[4*d+1] != 1/float32(len(passages)) {
			t.Fatalf("indicators %v for %d passages", shown[4*d:], len(passages))
		}
		for i, v := range row(t, claim, rapid.Permutation(passages).Draw(t, "order")...) {
			if math.Abs(float64(v-shown[i])) > 1e-6 {
				t.Fatalf("in another order column %d is %v, not %v", i, v, shown[i])
			}
		}
	})
}

// TestPairEncoderLevels encodes several instances under several levels at once, as
// one by one.
func TestPairEncoderLevels(t *testing.T) {
	c := &pairEncoder{wordsEmbedder(t)}
	batch := []part.Instance{{Text: "a b"}, {Text: "c"}}
	levels := [][]part.AdvicePayload{{{}, {}}, nil, {{Passages: []part.Passage{{Text: "a"}, {Text: "d"}}}, {Passages: []part.Passage{{Text: "e"}}}}}
	got := make([]float32, 4*c.Width())
	if err := c.Encode(t.Context(), got, batch, levels); err != nil {
		t.Fatal(err)
	}
	for n := range batch {
		for i, k := range []int{0, 2} {
			want := make([]float32, c.Width())
			if err := c.Encode(t.Context(), want, batch[n:n+1], [][]part.AdvicePayload{levels[k][n : n+1]}); err != nil {
				t.Fatal(err)
			}
			at := (2*n + i) * c.Width()
			if !slices.Equal(got[at:at+c.Width()], want) {
				t.Errorf("instance %d, level %d has another row", n, k)
			}
		}
	}
	if err := c.Encode(t.Context(), got, []part.Instance{{Entry: part.Entry{ID: "x"}}}, levels[:1]); err == nil || !strings.Contains(err.Error(), `instance "x" has no text`) {
		t.Errorf("without a text: %v", err)
	}
}
