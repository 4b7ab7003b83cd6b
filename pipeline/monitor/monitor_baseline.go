package monitor

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"pipe/costs"
	"pipe/internal/digest"
	"pipe/internal/parallel"
	"pipe/internal/seeded"
	"pipe/internal/storage"
	"pipe/models/drift"
	"pipe/models/policy"
	"pipe/pipeline/decide"
)

// baseline has the statistics with which new rows are compared.
type baseline struct {
	rows    int
	samples []*drift.Sample // per feature
	sampled int
	mmd     *drift.MMD // nil: too few rows
	chosen  []int64    // rows by the pair that the policy chooses
	means   []float64  // mean outcome by pair; NaN where none is known
	digest  string     // of the rows
	fees    bool       // there are measured fees

	low, high float64 // range of outcomes
	mean      float64 // outcome of the policy's decisions
	known     int     // of these
	sets      int     // independent sets of them
	upper     float64 // bound of the mean
}

// baselineReader collects a baseline from batches of a tensor.
type baselineReader struct {
	o      Options
	router *decide.Router
	random *rand.Rand
	keep   int // rows of the sample
	dim    int
	sample []float32
	b      *baseline
	hash   hash.Hash

	sums     []float64 // outcomes by pair
	counts   []float64
	extreme  [2]float64 // smallest and largest outcome of any pair
	outcomes []float64  // of the decisions; NaN if unknown
	seen     *costs.Seen
}

// readBaseline reads the held-out rows of a tensor, decides on them, and prepares the comparisons.
func readBaseline(ctx context.Context, path storage.Location, router *decide.Router, o Options) (*baseline, error) {
	r, err := costs.OpenReader(ctx, path, costs.ReadOptions{Actions: o.Actions, Unknown: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := router.Info().Matches(&costs.Tensor{Actions: r.Actions(), Dim: r.Dim()}); err != nil {
		return nil, fmt.Errorf("read baseline: %w", &costs.DataError{File: path.String(), Err: err})
	}
	pairs, dim := r.Actions().Len(), r.Dim()
	const mostValues = 8 << 20 // of the sample; every value has two counts
	c := &baselineReader{
		o: o, router: router, random: seeded.Stream(o.Seed, "monitor sample", 0), keep: max(drift.MMDLeast, min(o.Sample, mostValues/dim)), dim: dim,
		b: &baseline{chosen: make([]int64, pairs)}, hash: digest.New(), seen: costs.NewSeen(),
		sums: make([]float64, pairs), counts: make([]float64, pairs), extreme: [2]float64{math.Inf(1), math.Inf(-1)},
	}
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = c.add(ctx, heldOut(t, o.Splits))
		}
		if err != nil {
			return nil, err
		}
	}
	if c.b.rows == 0 {
		return nil, fmt.Errorf("read baseline: %w", &costs.DataError{File: path.String(), Column: "split", Msg: fmt.Sprintf(
			"has no rows of split %s: the baseline are rows that the policy was not trained on", o.splitNames())})
	}
	return c.b, c.finish()
}

// heldOut has the rows of the splits.
func heldOut(t *costs.Tensor, splits []costs.Split) *costs.Tensor {
	var rows []int
	for n, s := range t.Splits {
		if slices.Contains(splits, s) {
			rows = append(rows, n)
		}
	}
	if len(rows) == t.Len() {
		return t
	}
	return t.Subset(rows)
}

// add decides on a batch and collects it.
func (c *baselineReader) add(ctx context.Context, t *costs.Tensor) error {
	n := t.Len()
	if n == 0 {
		return ctx.Err()
	}
	c.b.fees = c.b.fees || t.HasFees()
	d, err := c.router.Batch(ctx, t.Features, n)
	if err != nil {
		return fmt.Errorf("read baseline: %w", rowError(err, t.IDs))
	}
	for i := range n {
		c.keepRow(t.Row(i))
		c.outcomesOf(t, i, int(d.Action[i]))
	}
	c.seen.Add(t)
	return binary.Write(c.hash, binary.LittleEndian, t.Features)
}

// rowError turns an error about a row into one about data.
func rowError(err error, ids []string) error {
	if row, ok := errors.AsType[*policy.RowError](err); ok && row.Row < len(ids) {
		return &costs.DataError{Msg: fmt.Sprintf("id %q", ids[row.Row]), Err: row.Err}
	}
	return err
}

// keepRow updates the random sample. After n rows, each of them is in it with the same probability.
func (c *baselineReader) keepRow(row []float32) {
	c.b.rows++
	if have := len(c.sample) / c.dim; have < c.keep {
		c.sample = append(c.sample, row...)
	} else if at := c.random.IntN(c.b.rows); at < c.keep {
		copy(c.sample[at*c.dim:], row)
	}
}

// outcomesOf collects the outcomes of a row on which the policy chooses a pair.
func (c *baselineReader) outcomesOf(t *costs.Tensor, row, chosen int) {
	c.b.chosen[chosen]++
	for i := range c.sums {
		v := outcomeOf(t, row, i, !c.o.LossAlone)
		if v != v {
			continue
		}
		c.sums[i], c.counts[i] = c.sums[i]+v, c.counts[i]+1
		c.extreme = [2]float64{min(c.extreme[0], v), max(c.extreme[1], v)}
	}
	v := outcomeOf(t, row, chosen, !c.o.LossAlone)
	c.outcomes = append(c.outcomes, v)
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
	c.hash.Write(b[:])
}

// outcomeOf returns the task loss of a pair, with its measured fee if fees count; NaN if it is unknown.
func outcomeOf(t *costs.Tensor, row, pair int, fees bool) float64 {
	at := row*t.Actions.Len() + pair
	v := float64(t.Loss[at])
	if fees && t.Fee != nil {
		v += float64(t.Fee[at])
	}
	return v
}

// finish prepares the comparisons.
func (c *baselineReader) finish() error {
	b := c.b
	b.digest = digest.Sum(c.hash)
	b.sampled = len(c.sample) / c.dim
	b.samples = make([]*drift.Sample, c.dim)
	parallel.Do(c.dim, func(f int) {
		column := make([]float32, 0, b.sampled)
		for i := f; i < len(c.sample); i += c.dim {
			column = append(column, c.sample[i])
		}
		b.samples[f] = drift.NewSample(column)
	})
	for i, s := range c.sums {
		b.means = append(b.means, s/c.counts[i]) // NaN for none
	}
	var err error
	if b.sampled >= drift.MMDLeast {
		if b.mmd, err = drift.NewMMD(c.sample, c.dim, c.o.Seed); err != nil {
			return err
		}
	}
	return c.level()
}

// level finds the range of outcomes and bounds the mean of those of the policy's decisions.
func (c *baselineReader) level() (err error) {
	b := c.b
	b.low, b.high = min(0, c.extreme[0]), max(1, c.extreme[1])
	if c.o.Range != nil {
		b.low, b.high = c.o.Range[0], c.o.Range[1]
	}
	var values []float64
	var rows []int
	for n, v := range c.outcomes {
		if v == v {
			values, rows = append(values, b.unit(v)), append(rows, n)
		}
	}
	if b.known = len(values); b.known == 0 {
		return nil
	}
	for _, v := range values {
		b.mean += (b.low + v*(b.high-b.low)) / float64(b.known)
	}
	together := c.seen.Clusters(rows)
	b.sets = together.Len()
	sums := make([]float64, b.sets)
	for i, v := range values {
		sums[together.Of[i]] += v
	}
	upper, err := drift.UpperBound(sums, together.Size, c.o.Alpha/2)
	b.upper = b.low + upper*(b.high-b.low)
	return err
}

// unit maps an outcome to [0, 1].
func (b *baseline) unit(v float64) float64 {
	return min(1, max(0, (v-b.low)/(b.high-b.low)))
}
