package language

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/featurize/tokenizer"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// Pair is a graph that reads two texts and gives class scores. It is safe
// for concurrent use.
type Pair struct {
	session *ort.Session
	file    string
	output  string
	tokens  *tokenizer.Tokenizer
	mask    bool // what the graph takes beside input_ids
	types   bool
	classes int
	limit   int // largest number of tokens in a pair
	batch   int // largest number of tokens in a call
}

// PairSettings name a graph and say how it is called.
type PairSettings struct {
	FolderSettings
	Output    string `json:"output"`     // name of the output with the scores
	MaxLength int    `json:"max_length"` // largest number of tokens in a pair; 0: 512, or the model's limit if that is lower
	Tokens    int    `json:"batch_tokens"`
}

// typesInput is 0 for the tokens of the first text and 1 for those of the second.
const typesInput = "token_type_ids"

// longestPair is the default of max_length, the usual length in the training of pair classifiers.
const longestPair = 512

// DefaultPairSettings are those of most exports.
func DefaultPairSettings() PairSettings { return PairSettings{Output: logitsOutput, Tokens: 4096} }

// OpenPair loads the graph of a folder and checks its number of classes.
func OpenPair(s *part.Setup, cfg *PairSettings, f *Folder, classes int) (*Pair, error) {
	m := &Pair{file: f.file, output: cfg.Output, tokens: f.tokens, classes: classes, batch: cfg.Tokens}
	var err error
	if m.limit, err = rowLimit(cfg.MaxLength, f.config.Positions, longestPair); err != nil {
		return nil, err
	}
	if cfg.Tokens < 1 {
		return nil, fmt.Errorf("batch_tokens is %d; it must be positive", cfg.Tokens)
	}
	if err := m.bind(f.graph); err != nil {
		return nil, &costs.DataError{File: f.file, Err: err}
	}
	rt, err := s.Runtime()
	if err != nil {
		return nil, err
	}
	o := rt.SessionOptions()
	o.Threads = 1 // shards run concurrently, and one thread gives the same bits everywhere
	o.Outputs = []string{m.output}
	m.session, err = rt.SessionFile(f.file, o)
	return m, err
}

// bind checks the inputs and the output.
func (m *Pair) bind(graph *onnx.Model) error {
	ids := false
	for _, in := range graph.Inputs() {
		switch in.Name {
		case idsInput:
			ids = true
		case maskInput:
			m.mask = true
		case typesInput:
			m.types = true
		default:
			return fmt.Errorf("has an unknown input %q; the inputs of a pair classifier are %s, %s, %s", in.Name, idsInput, maskInput, typesInput)
		}
		if in.DType != onnx.Int64 || len(in.Shape) != 2 {
			return fmt.Errorf("input %q is %v of shape %s; it must be int64 [batch, sequence]", in.Name, in.DType, in.Shape)
		}
	}
	if !ids {
		return fmt.Errorf("has no input %q; it is not a text classifier", idsInput)
	}
	i := slices.IndexFunc(graph.Outputs(), func(o onnx.IO) bool { return o.Name == m.output })
	if i < 0 {
		return fmt.Errorf("has no output %q; name the one with the scores (output: NAME)", m.output)
	}
	out := graph.Outputs()[i]
	if out.DType != onnx.Float32 || len(out.Shape) != 2 || out.Shape[1].Known() && out.Shape[1].Size != int64(m.classes) {
		return fmt.Errorf("output %q is %v of shape %s; it must be float32 [batch, %d], a score per class of config.json", m.output, out.DType, out.Shape, m.classes)
	}
	return nil
}

// Close frees the graph.
func (m *Pair) Close() error { return m.session.Close() }

// Encode returns the tokens of a pair. A pair that is too long loses tokens at the
// end of its first text; the second is never truncated.
func (m *Pair) Encode(first, second string) (tokenizer.Encoding, error) {
	pair := m.tokens.EncodePair(first, second, tokenizer.Options{Special: true})
	excess := len(pair.IDs) - m.limit
	if excess <= 0 {
		return pair, nil
	}
	ids := m.tokens.Encode(first, tokenizer.Options{}).IDs
	end := indexOfRun(pair.IDs, ids) + len(ids)
	switch {
	case end < len(ids):
		return pair, errors.New("the evidence alone does not have the tokens that it has in the pair with the claim")
	case excess > len(ids):
		return pair, fmt.Errorf("the claim alone exceeds max_length, %d tokens", m.limit)
	}
	pair.IDs = slices.Delete(pair.IDs, end-excess, end)
	pair.Types = slices.Delete(pair.Types, end-excess, end)
	return pair, nil
}

// indexOfRun returns where part starts in list, -1 if it does not occur.
func indexOfRun(list, part []int32) int {
	for at := 0; at+len(part) <= len(list); at++ {
		if slices.Equal(list[at:at+len(part)], part) {
			return at
		}
	}
	return -1
}

// Logits returns pairs x classes scores. Pairs of similar length share a call, in
// which shorter ones are padded and masked.
func (m *Pair) Logits(ctx context.Context, pairs []tokenizer.Encoding) ([]float32, error) {
	out := make([]float32, len(pairs)*m.classes)
	length := func(i int) int { return len(pairs[i].IDs) }
	for _, batch := range byLength(len(pairs), length, m.batch, len(pairs)) {
		got, err := m.session.Run(ctx, m.feed(pairs, batch))
		if err != nil {
			return nil, &costs.DataError{File: m.file, Err: err}
		}
		scores := got[m.output]
		if scores.Len() != len(batch)*m.classes {
			return nil, &costs.DataError{File: m.file, Msg: fmt.Sprintf("output %q has shape %v for %d pairs and %d classes", m.output, scores.Shape, len(batch), m.classes)}
		}
		values := scores.Float32s()
		for at, i := range batch {
			copy(out[i*m.classes:(i+1)*m.classes], values[at*m.classes:])
		}
	}
	for i, v := range out {
		if v-v != 0 {
			return nil, &costs.DataError{File: m.file, Msg: fmt.Sprintf("output %q: score %d is %v", m.output, i%m.classes, v)}
		}
	}
	return out, nil
}

// feed returns a batch as inputs of the graph.
func (m *Pair) feed(pairs []tokenizer.Encoding, batch []int) map[string]*onnx.Tensor {
	width := 0
	for _, i := range batch {
		width = max(width, len(pairs[i].IDs))
	}
	n := len(batch) * width
	ids, mask, types := make([]int64, n), make([]int64, n), make([]int64, n)
	for at, i := range batch {
		row := ids[at*width : (at+1)*width]
		for j := range row {
			row[j] = int64(m.tokens.Pad())
		}
		for j, id := range pairs[i].IDs {
			row[j], mask[at*width+j], types[at*width+j] = int64(id), 1, int64(pairs[i].Types[j])
		}
	}
	shape := []int64{int64(len(batch)), int64(width)}
	in := map[string]*onnx.Tensor{idsInput: onnx.Int64s(shape, ids)}
	if m.mask {
		in[maskInput] = onnx.Int64s(shape, mask)
	}
	if m.types {
		in[typesInput] = onnx.Int64s(shape, types)
	}
	return in
}
