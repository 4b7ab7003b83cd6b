package language

import (
	"context"
	"fmt"
	"math"
	"slices"

	"pipe/onnx"
)

// Continuation is the tokens of a text and of what may follow it; neither is empty.
type Continuation struct{ Prompt, Next []int32 }

// input is what a model has to read: the last token asks for nothing.
func (c *Continuation) input() []int32 {
	return slices.Concat(c.Prompt, c.Next[:len(c.Next)-1])
}

// logitsKept bounds the logits of one call, in numbers: 256 MiB.
const logitsKept = 64 << 20

// LogProbabilities returns log P(next | prompt) of every row, a natural logarithm: the
// sum over the tokens of next. A row longer than Limit is an error. A model with a cache reads a prompt once for all rows beside
// each other that share it; otherwise rows of like length share a call.
func (c *Causal) LogProbabilities(ctx context.Context, rows []Continuation) ([]float64, error) {
	most := 1
	for i := range rows {
		r := &rows[i]
		if len(r.Prompt) == 0 || len(r.Next) == 0 || len(r.Prompt)+len(r.Next) > c.limit {
			return nil, fmt.Errorf("a prompt of %d tokens with an answer of %d; the limit is %d", len(r.Prompt), len(r.Next), c.limit)
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

// scoreShared goes prompt by prompt: what follows one is read after its cache.
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

// scoreRest scores all tokens but the first of what follows a prompt.
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

// byLength parts 0..n-1 into batches of like length, shortest first. A batch has
// at most a number of rows, and rows times the longest of them stay within a
// number of tokens; a row that is longer than that is alone.
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
