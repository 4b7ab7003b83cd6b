package language

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"pipe/costs"
	"pipe/onnx"
)

// cacheInput is one tensor of a model's cache of earlier tokens:
// [batch, heads, tokens so far, size].
type cacheInput struct {
	name    string // of the input
	present string // of the output with the new tokens appended
	dtype   onnx.DType
	heads   int64
	size    int64
}

// cacheName matches the names of cache inputs in exported models.
var cacheName = regexp.MustCompile(`^past_key_values\.(\d+\.(?:key|value))$`)

// newCacheInput describes an input that is part of the cache. Axes that the graph
// does not fix come from the model's configuration.
func newCacheInput(in onnx.IO, cfg *modelConfig) (cacheInput, error) {
	m := cacheName.FindStringSubmatch(in.Name)
	if m == nil {
		return cacheInput{}, fmt.Errorf("has an unknown input %q; the inputs of a causal language model are %s, %s, %s and past_key_values.N.key and .value",
			in.Name, idsInput, maskInput, positionInput)
	}
	e := cacheInput{name: in.Name, present: "present." + m[1], dtype: in.DType, heads: cfg.CacheHeads, size: cfg.HeadSize}
	if e.heads == 0 {
		e.heads = cfg.Heads
	}
	if e.size == 0 && cfg.Heads > 0 {
		e.size = cfg.Hidden / cfg.Heads
	}
	if len(in.Shape) != 4 {
		return e, fmt.Errorf("input %q has shape %s; it must be [batch, heads, tokens, size]", in.Name, in.Shape)
	}
	if d := in.Shape[1]; d.Known() {
		e.heads = d.Size
	}
	if d := in.Shape[3]; d.Known() {
		e.size = d.Size
	}
	if e.heads < 1 || e.size < 1 || e.dtype.Size() == 0 {
		return e, fmt.Errorf("input %q is %v of shape %s, and config.json has no number or size of heads", in.Name, in.DType, in.Shape)
	}
	return e, nil
}

// empty is the cache before the first token.
func (e *cacheInput) empty(rows int) *onnx.Tensor {
	return &onnx.Tensor{DType: e.dtype, Shape: []int64{int64(rows), e.heads, 0, e.size}}
}

// growing reports whether a graph returns every tensor of its cache, in a type
// that can be read.
func growing(cache []cacheInput, outputs []onnx.IO) bool {
	for _, e := range cache {
		found := slices.ContainsFunc(outputs, func(o onnx.IO) bool { return o.Name == e.present })
		if !found || e.dtype != onnx.Float32 {
			return false
		}
	}
	return len(cache) > 0
}

// call is one run of a model: rows of tokens, and the cache of the tokens before
// each.
type call struct {
	rows  [][]int32
	past  map[string]*onnx.Tensor // cache by input; nil: empty
	seen  int                     // tokens in past
	picks [][2]int                // (row, token) whose next-token logits are returned
}

// run returns the logits of the picks, picks x vocabulary, and the cache after the
// call.
func (c *Causal) run(ctx context.Context, q *call) ([]float32, map[string]*onnx.Tensor, error) {
	got, err := c.session.Run(ctx, c.feed(q))
	if err != nil {
		return nil, nil, &costs.DataError{File: c.file, Err: err}
	}
	logits := got[pickedOutput]
	vocabulary := int64(c.tokens.Size())
	if len(logits.Shape) != 2 || logits.Shape[0] != int64(len(q.picks)) || logits.Shape[1] < vocabulary {
		return nil, nil, &costs.DataError{File: c.file, Msg: fmt.Sprintf("returns logits of shape %v for %d positions and a tokenizer of %d tokens", logits.Shape, len(q.picks), vocabulary)}
	}
	values := logits.Float32s()
	width := int(logits.Shape[1])
	for i, v := range values {
		if v-v != 0 {
			p := q.picks[i/width]
			return nil, nil, &costs.DataError{File: c.file, Msg: fmt.Sprintf("logit %d after token %d is %v", i%width, q.seen+p[1], v)}
		}
	}
	past := make(map[string]*onnx.Tensor, len(c.cache))
	if c.cached {
		for _, e := range c.cache {
			past[e.name] = got[e.present]
		}
	}
	return values, past, nil
}

// feed returns the rows as inputs of the graph. Rows shorter than the longest are
// padded on the right.
func (c *Causal) feed(q *call) map[string]*onnx.Tensor {
	rows, width := len(q.rows), 0
	for _, r := range q.rows {
		width = max(width, len(r))
	}
	ids, positions := make([]int64, rows*width), make([]int64, rows*width)
	mask := make([]int64, rows*(q.seen+width))
	pad := int64(c.tokens.Pad())
	for i, r := range q.rows {
		for j := range width {
			at := i*width + j
			ids[at], positions[at] = pad, int64(q.seen+j)
			if j < len(r) {
				ids[at] = int64(r[j])
			}
		}
		for j := range q.seen + len(r) {
			mask[i*(q.seen+width)+j] = 1
		}
	}
	shape := []int64{int64(rows), int64(width)}
	in := map[string]*onnx.Tensor{idsInput: onnx.Int64s(shape, ids), rowsInput: pickTensor(q.picks)}
	if c.mask {
		in[maskInput] = onnx.Int64s([]int64{int64(rows), int64(q.seen + width)}, mask)
	}
	if c.positions {
		in[positionInput] = onnx.Int64s(shape, positions)
	}
	for _, e := range c.cache {
		in[e.name] = e.empty(rows)
	}
	maps.Copy(in, q.past)
	return in
}

func pickTensor(picks [][2]int) *onnx.Tensor {
	flat := make([]int64, 0, 2*len(picks))
	for _, p := range picks {
		flat = append(flat, int64(p[0]), int64(p[1]))
	}
	return onnx.Int64s([]int64{int64(len(picks)), 2}, flat)
}

// Answer returns the greedy continuation of a conversation, with at most the given
// number of tokens. A prompt that leaves no room for an answer is an error.
func (c *Causal) Answer(ctx context.Context, talk Conversation, most int) (string, error) {
	prompt, err := c.Prompt(talk)
	if err != nil {
		return "", err
	}
	ids, err := c.generate(ctx, prompt, most)
	return c.tokens.Decode(ids), err
}

// generate takes the most likely next token repeatedly. It stops at the given
// number of tokens, at the model's limit, or at an end token, which is not part of
// the answer. Rows are not batched: so an answer depends, bit for bit, only on its
// prompt, and the caches of any export have no gaps.
func (c *Causal) generate(ctx context.Context, prompt []int32, most int) ([]int32, error) {
	if len(prompt) >= c.limit {
		return nil, fmt.Errorf("the prompt has %d tokens; the limit is %d including the answer", len(prompt), c.limit)
	}
	var answer []int32
	var past map[string]*onnx.Tensor
	unread, seen := slices.Clone(prompt), 0
	for len(answer) < most && len(prompt)+len(answer) < c.limit {
		logits, now, err := c.run(ctx, &call{rows: [][]int32{unread}, past: past, seen: seen, picks: [][2]int{{0, len(unread) - 1}}})
		if err != nil {
			return nil, err
		}
		token := int32(slices.Index(logits, slices.Max(logits))) // the first one on ties
		if slices.Contains(c.end, token) {
			break
		}
		answer = append(answer, token)
		if !c.cached {
			unread = append(unread, token)
			continue
		}
		seen, past, unread = seen+len(unread), now, []int32{token}
	}
	return answer, nil
}
