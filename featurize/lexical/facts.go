package lexical

import (
	"math"
	"strings"
	"unicode"

	"pipe/featurize/tokenizer"
	"pipe/onnx"
)

// FactNames are the elements after the components, with Options.Facts. Counts are ln(1 + count), the others are shares.
// Each is scaled to mean 0 and variance 1/len(FactNames) over the texts, and limited to four standard deviations. They
// depend on no language.
var FactNames = []string{
	"words", "characters", "question marks", "backticks", "share of digits", "share of punctuation", "share of letters that are not Latin",
	"share of words without a token",
}

// What is summed over the tokens of a text, for the facts. The first four become counts, the others shares of characters,
// the last of words.
const (
	sumWords = iota
	sumCharacters
	sumQuestions
	sumBackticks
	sumDigits
	sumPunctuation
	sumForeign
	sumCut
	sums
)

// factLimit is how many standard deviations a fact can be from the mean.
const factLimit = 4

// factsOf is what a token adds to the sums. Characters of unknown words are not known.
func factsOf(id int, v *vocabulary) (f [sums]float64) {
	switch {
	case v.tokens[id] == unknownToken:
		f[sumWords], f[sumCut] = 1, 1
		return f
	case id < firstToken:
		return f
	}
	text, continues := strings.CutPrefix(v.tokens[id], continuing)
	if !continues {
		f[sumWords] = 1
		if id >= firstToken+v.words {
			f[sumCut] = 1
		}
	}
	for _, r := range text {
		f[sumCharacters]++
		f[sumQuestions] += one(strings.ContainsRune("?？؟;", r))
		f[sumBackticks] += one(r == '`')
		f[sumDigits] += one(unicode.IsNumber(r))
		f[sumPunctuation] += one(unicode.IsPunct(r) || unicode.IsSymbol(r))
		f[sumForeign] += one(unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r))
	}
	return f
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// facts are what the graph needs for them.
type facts struct {
	table       [][sums]float64 // per token
	mean, scale [sums]float64
}

// newFacts finds means and scales over texts.
func newFacts(texts []tokenizer.Encoding, v *vocabulary) *facts {
	f := &facts{table: make([][sums]float64, len(v.tokens))}
	for id := range f.table {
		f.table[id] = factsOf(id, v)
	}
	var square [sums]float64
	for _, text := range texts {
		for i, x := range f.values(text.IDs) {
			f.mean[i] += x / float64(len(texts))
			square[i] += x * x / float64(len(texts))
		}
	}
	for i, m := range f.mean {
		if spread := math.Sqrt(max(0, square[i]-m*m)); spread > 1e-6 { // of a constant fact nothing is left
			f.scale[i] = 1 / (spread * math.Sqrt(sums))
		}
	}
	return f
}

// values are the facts of a text before scaling.
func (f *facts) values(ids []int32) (x [sums]float64) {
	for _, id := range ids {
		for i, v := range f.table[id] {
			x[i] += v
		}
	}
	characters, words := max(1, x[sumCharacters]), max(1, x[sumWords])
	for i := range x {
		switch {
		case i < sumDigits:
			x[i] = math.Log(1 + x[i])
		case i < sumCut:
			x[i] /= characters
		default:
			x[i] /= words
		}
	}
	return x
}

// graph computes the facts of texts, [batch, sums], of ids [batch, sequence] and here [batch, 1, sequence], which is 0 for
// padding and else 1.
func (f *facts) graph(g *onnx.Graph, ids, here *onnx.Value) *onnx.Value {
	var flat []float32
	for _, row := range f.table {
		for _, v := range row {
			flat = append(flat, float32(v))
		}
	}
	row := func(at func(i int) float64) *onnx.Value {
		values := make([]float32, sums)
		for i := range values {
			values[i] = float32(at(i))
		}
		return g.Const(onnx.Float32s([]int64{1, sums}, values))
	}
	table := g.NamedConst("facts", onnx.Float32s([]int64{int64(len(f.table)), sums}, flat))
	x := g.Squeeze(g.MatMul(here, g.Gather(table, ids, 0)), 1)
	pick := make([]float32, sums*sums) // the sum that each is a share of
	for i := range sums {
		of := sumCharacters
		if i == sumCut {
			of = sumWords
		}
		pick[of*sums+i] = 1
	}
	unit := g.Scalar(onnx.Float32, 1)
	share := g.Div(x, g.Max(g.MatMul(x, g.Const(onnx.Float32s([]int64{sums, sums}, pick))), unit))
	counts := row(func(i int) float64 { return one(i < sumDigits) })
	x = g.Add(g.Mul(g.Log(g.Add(x, unit)), counts), g.Mul(share, g.Sub(unit, counts)))
	x = g.Mul(g.Sub(x, row(func(i int) float64 { return f.mean[i] })), row(func(i int) float64 { return f.scale[i] }))
	return g.Clip(x, -factLimit/math.Sqrt(sums), factLimit/math.Sqrt(sums))
}
