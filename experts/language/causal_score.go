package language

import (
	"context"
	"fmt"
	"math"
	"slices"

	"pipe/onnx"
)

// Continuation is the tokens of a prompt and of a text that may follow it; neither is empty.
type Continuation struct{ Prompt, Next []int32 }

// input returns the tokens that a model reads: all but the last, which is only predicted.
func (c *Continuation) input() []int32 {
	return slices.Concat(c.Prompt, c.Next[:len(c.Next)-1])
}

// logitsKept is the largest number of logits of one call, 256 MiB.
const logitsKept = 64 << 20

// LogProbabilities returns log P(next | prompt) of every row, a natural logarithm,
// summed over the tokens of next. A row longer than Limit is an error. With a cache
// the model reads a prompt once for all adjacent rows that share it; otherwise rows
// of similar length share a call.
func (c *Causal) LogProbabilities(ctx context.Context, rows []Continuation) ([]float64, error) {
	most := 1
	for i := range rows {
		r := &rows[i]
		if len(r.Prompt) == 0 || len(r.Next) == 0 || len(r.Prompt)+len(r.Next) > c.limit {
			return nil, fmt.Errorf("the prompt has %d tokens and the answer %d; the limit of both together is %d", len(r.Prompt), len(r.Next), c.limit)
		}
		most = max(most, len(r.Next))
	}
	out := make([]float64, len(rows))
	if c.cached {
		return out, c.scoreShared(ctx, rows, out)
	}
	length := func(i int) int { return len(rows[i].Prompt) + len(rows[i].Next) - 1 }
	together := max(1, logitsKept/(most*max(c.vocabulary, c.tokens.Size())))
	for _, batch := range byLength(len(rows), length, c.batch, together) {
		if err := c.score(ctx, rows, batch, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// scoreShared reads each prompt once and scores its continuations with its cache.
// Nothing is batched, so that no cache has gaps and none is copied per row.
func (c *Causal) scoreShared(ctx context.Context, rows []Continuation, out []float64) error {
	var first []float32
	var past map[string]*onnx.Tensor
	for i := range rows {
		r := &rows[i]
		if i == 0 || !slices.Equal(r.Prompt, rows[i-1].Prompt) {
			var err error
			first, past, err = c.run(ctx, &call{rows: [][]int32{r.Prompt}, picks: [][2]int{{0, len(r.Prompt) - 1}}})
			if err != nil {
				return err
			}
		}
		rest, err := c.scoreRest(ctx, r, past)
		if err != nil {
			return err
		}
		out[i] = logProbability(first, int(r.Next[0])) + rest
	}
	return nil
}

// scoreRest scores the tokens of a continuation after the first.
func (c *Causal) scoreRest(ctx context.Context, r *Continuation, past map[string]*onnx.Tensor) (float64, error) {
	unread := r.Next[:len(r.Next)-1]
	if len(unread) == 0 {
		return 0, nil
	}
	q := &call{rows: [][]int32{unread}, past: past, seen: len(r.Prompt)}
	for j := range unread {
		q.picks = append(q.picks, [2]int{0, j})
	}
	logits, _, err := c.run(ctx, q)
	if err != nil {
		return 0, err
	}
	sum, width := 0.0, len(logits)/len(q.picks)
	for j, token := range r.Next[1:] {
		sum += logProbability(logits[j*width:(j+1)*width], int(token))
	}
	return sum, nil
}

// score fills the results of one batch.
func (c *Causal) score(ctx context.Context, rows []Continuation, batch []int, out []float64) error {
	q := &call{}
	for at, i := range batch {
		r := &rows[i]
		q.rows = append(q.rows, r.input())
		for j := range r.Next {
			q.picks = append(q.picks, [2]int{at, len(r.Prompt) - 1 + j})
		}
	}
	logits, _, err := c.run(ctx, q)
	if err != nil {
		return err
	}
	width := len(logits) / len(q.picks)
	for _, i := range batch {
		out[i] = 0
		for _, token := range rows[i].Next {
			out[i] += logProbability(logits[:width], int(token))
			logits = logits[width:]
		}
	}
	return nil
}

// logProbability is the log-softmax of one logit, in double precision.
func logProbability(logits []float32, token int) float64 {
	top := float64(slices.Max(logits))
	var sum float64
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	return float64(logits[token]) - top - math.Log(sum)
}

// byLength divides 0..n-1 into batches of similar length, shortest first. A batch
// has at most the given number of rows, and its rows times its longest row are at
// most the given number of tokens; a longer row is a batch alone.
func byLength(n int, length func(int) int, tokens, rows int) [][]int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return length(a) - length(b) })
	var batches [][]int
	from := 0
	for at := range order {
		size := at + 1 - from
		if size > 1 && (size > rows || size*length(order[at]) > tokens) {
			batches = append(batches, order[from:at])
			from = at
		}
	}
	if from < n {
		batches = append(batches, order[from:])
	}
	return batches
}
