package lexical

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/featurize/tokenizer"
	"pipe/internal/parallel"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// Model is a fitted encoder.
type Model struct {
	Graph     *onnx.Model // input_ids and attention_mask, int64 [batch, sequence], to sentence_embedding, float32 [batch, Dim]
	Tokenizer []byte      // tokenizer.json
	Tokens    int         // rows of the table
	MaxLength int         // most tokens of a text
	Dim       int         // length of a vector: components and facts
	Head      hf.Head     // what the graph does last; a vector with facts has not length 1
	Report    Report
}

// Report describes what was fitted.
type Report struct {
	Texts     int       `json:"texts"`
	Blank     int       `json:"blank"`    // texts without a word or n-gram that counts
	Cut       int       `json:"cut"`      // texts with more tokens than the limit
	Words     int       `json:"words"`    // that have a token of their own
	Pieces    int       `json:"pieces"`   // tokens for parts of other words
	Grams     int       `json:"n_grams"`  // that count
	Captured  float64   `json:"captured"` // share of the squared lengths of the weighted counts that the components keep
	Singular  []float64 `json:"singular_values"`
	FactNames []string  `json:"facts,omitempty"`
}

// ErrNoTexts means that nothing can be fitted to the texts: there are none, or nothing is in enough of them.
var ErrNoTexts = errors.New("there are no texts with words to fit an encoder to")

// Progress gets the name of what is done now, and the share of it that is done, from 0 to 1, which is a guess.
type Progress func(phase string, share float64)

// Fit fits an encoder to texts. The same texts in any order, with the same options, give the same bytes. Too many
// components are a *RankError. progress may be nil.
//
// A text is the sum of the weighted counts of the words and n-grams of its tokens: Sublinear weighs tokens, each feature
// has its idf, and the whole has length 1. The components are the right singular vectors of these rows.
func Fit(ctx context.Context, texts []string, o Options, progress Progress) (*Model, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(string, float64) {}
	}
	texts = slices.Sorted(slices.Values(texts))
	progress("count words", 0)
	v, err := chooseTokens(texts, o)
	if err != nil {
		return nil, err
	}
	file, err := tokenizerFile(v.tokens)
	if err != nil {
		return nil, err
	}
	progress("weigh words", 0)
	encoded, cut, err := encodeAll(ctx, texts, file, o)
	if err != nil {
		return nil, err
	}
	w := weigh(encoded, v, o.Sublinear)
	if w.blank == len(texts) {
		return nil, fmt.Errorf("%w: no word or n-gram that counts is among the first %d tokens of any of %d texts", ErrNoTexts, o.MaxLength, len(texts))
	}
	d, err := w.decompose(ctx, o, func(share float64) { progress("decompose", share) })
	if err != nil {
		return nil, err
	}
	m := &Model{Tokenizer: file, Tokens: len(v.tokens), MaxLength: o.MaxLength, Dim: o.Dim, Report: v.describe(w, d)}
	m.Head = hf.Head{Pooling: hf.PoolModel, Normalize: !o.Facts}
	m.Report.Cut = cut
	var f *facts
	if o.Facts {
		f, m.Dim, m.Report.FactNames = newFacts(encoded, v), o.Dim+sums, FactNames
	}
	m.Graph, err = newGraph(d.rows, f, o.Sublinear)
	return m, err
}

func chooseTokens(texts []string, o Options) (*vocabulary, error) {
	split, err := splitter()
	if err != nil {
		return nil, err
	}
	v := newVocabulary(countTexts(split, texts, o), o)
	if v.features == 0 {
		return nil, fmt.Errorf("%w: %d texts, and no word or n-gram is in %d of them", ErrNoTexts, len(texts), o.MinTexts)
	}
	return v, nil
}

// encodeAll makes the tokens of texts, as the encoder will. It also counts the texts that are cut.
func encodeAll(ctx context.Context, texts []string, file []byte, o Options) ([]tokenizer.Encoding, int, error) {
	t, err := tokenizer.Parse(file)
	if err != nil {
		return nil, 0, err
	}
	out, long := make([]tokenizer.Encoding, len(texts)), make([]bool, len(texts))
	err = parallel.Each(ctx, o.workers(), len(texts), func(_ context.Context, i int) error {
		out[i] = t.Encode(texts[i], tokenizer.Options{Special: true})
		if ids := out[i].IDs; len(ids) > o.MaxLength {
			long[i], out[i].IDs = true, ids[:o.MaxLength]
		}
		return nil
	})
	cut := 0
	for _, is := range long {
		if is {
			cut++
		}
	}
	return out, cut, err
}

// describe is the report of what was chosen and found.
func (v *vocabulary) describe(w *weighting, d *decomposition) Report {
	r := Report{
		Words: v.words, Pieces: len(v.tokens) - firstToken - v.words, Grams: v.features - v.words, Singular: d.singular,
		Texts: w.tokens.rows, Blank: w.blank,
	}
	for _, s := range d.singular {
		r.Captured += s * s / float64(r.Texts-r.Blank) // each has length 1
	}
	return r
}
