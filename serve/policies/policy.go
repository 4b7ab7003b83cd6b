package policies

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pipe/internal/parallel"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/pipeline/decide"
)

// Policy is one version of a policy, leased by [Set.Acquire] until Release. All methods are safe for concurrent use.
type Policy struct {
	Name   string    // of the file, without .onnx
	Digest string    // of the policy, see policy.Digest: its version
	File   string    // from which it was read
	Loaded time.Time // when it was read

	router  *decide.Router
	encoder *encoder         // of texts or images; nil: there is none
	content string           // identifies the content of the files of policy and encoder
	cascade *cascade.Decider // nil: the file is no cascade
	queues  *queues
	graph   *Graph
	current *atomic.Pointer[Pricing] // of the set
	priced  atomic.Pointer[priced]   // the latest prices of the price file; nil: they were not needed yet

	leases atomic.Int64    // of callers, and one of the set
	live   *sync.WaitGroup // done when the last lease has ended and everything is closed
	failed error           // of closing it
}

// queues are the queues of a set, which all its policies share.
type queues struct{ encode, decide *queue }

// lease adds a lease. It returns false if the last lease has ended.
func (p *Policy) lease() bool {
	for {
		n := p.leases.Load()
		if n == 0 {
			return false
		}
		if p.leases.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release ends a lease. The policy must not be used after it.
func (p *Policy) Release() {
	switch n := p.leases.Add(-1); {
	case n < 0:
		panic("policies: a policy was released twice")
	case n == 0:
		p.failed = errors.Join(p.router.Close(), p.closeCascade(), p.encoder.release())
		p.live.Done()
	}
}

// Info returns the metadata of the policy file; do not change it.
func (p *Policy) Info() *policy.Info { return p.router.Info() }

// Prices returns the prices of the policy's own file; do not change them. [Policy.PricesAt] has those of the price file.
func (p *Policy) Prices() *policy.Prices { return p.router.Prices() }

// Input returns what the policy takes besides features: decide.InputText, InputImage or InputRow. It is
// decide.InputFeatures if the policy takes only features.
func (p *Policy) Input() string { return p.router.Input() }

// Columns returns the columns of raw rows that the policy uses; nil if it does not take rows.
func (p *Policy) Columns() []string { return p.router.Columns() }

// Inputs are rows of one kind: exactly one field is not nil.
type Inputs struct {
	Features []float32           // n x Info().Dim
	Rows     []map[string]string // raw columns by name
	Texts    []string
	Images   [][]byte // bytes of the files
}

// kind returns the kind of input and the number of its values.
func (in Inputs) kind() (kind string, n int, err error) {
	given := 0
	for _, k := range []struct {
		kind string
		ok   bool
		n    int
	}{
		{decide.InputFeatures, in.Features != nil, len(in.Features)},
		{decide.InputRow, in.Rows != nil, len(in.Rows)},
		{decide.InputText, in.Texts != nil, len(in.Texts)},
		{decide.InputImage, in.Images != nil, len(in.Images)},
	} {
		if k.ok {
			kind, n = k.kind, k.n
			given++
		}
	}
	if given != 1 || n == 0 {
		return "", 0, &InputsError{fmt.Sprintf("%d kinds of input: give features, rows, texts or images, and at least one", given)}
	}
	return kind, n, nil
}

// Encode returns the features of the rows of an input, n x Info().Dim. Given features are returned as they are; other inputs
// go through the encoder, in batches with those of other requests. The error is a *decide.InputError for an input that the
// policy does not take, and a *decide.RowError for an invalid row.
func (p *Policy) Encode(ctx context.Context, in Inputs) ([]float32, error) {
	kind, n, err := in.kind()
	if err != nil {
		return nil, err
	}
	switch kind {
	case decide.InputFeatures:
		if dim := p.Info().Dim; n%dim != 0 {
			return nil, &InputsError{fmt.Sprintf("%d features are not rows of %d, as the policy takes", n, dim)}
		}
		return in.Features, nil
	case decide.InputRow:
		return p.router.EncodeRows(ctx, in.Rows)
	}
	if takes := p.Input(); takes != kind {
		return nil, &decide.InputError{Takes: takes, Given: kind}
	}
	return p.encode(ctx, in)
}

// encode computes the features of texts or images. Texts are tokenised and images decoded before they wait, so that an
// invalid one does not fail a batch with other requests. Large requests are split, so that others can run in between.
func (p *Policy) encode(ctx context.Context, in Inputs) ([]float32, error) {
	prepared, err := p.prepare(ctx, in)
	if err != nil {
		return nil, err
	}
	q := p.queues.encode
	parts := prepared.Parts(q.maxRows, q.maxLoad)
	if len(parts) == 1 {
		return p.encodePart(ctx, parts[0].Prepared)
	}
	dim := p.Info().Dim
	out := make([]float32, prepared.Rows()*dim)
	err = parallel.Each(ctx, q.workers, len(parts), func(ctx context.Context, i int) error {
		features, err := p.encodePart(ctx, parts[i].Prepared)
		for n, at := range parts[i].At {
			if err == nil {
				copy(out[at*dim:(at+1)*dim], features[n*dim:])
			}
		}
		if row, ok := errors.AsType[*decide.RowError](err); ok {
			err = fmt.Errorf("decide: %w", &decide.RowError{Row: parts[i].At[row.Row], Err: row.Err})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// encodeJob is the work of a job of the queue encode.
type encodeJob struct {
	policy   *Policy
	in       *decide.Prepared
	features []float32
}

// batchKey is equal for encode jobs that may run in one batch: they have the same encoder, and texts of the same length,
// because others would gain nothing.
type batchKey struct {
	encoder *encoder
	length  int // tokens of every text
}

// encodePart encodes values of the same length in one job.
func (p *Policy) encodePart(ctx context.Context, in *decide.Prepared) ([]float32, error) {
	e := &encodeJob{policy: p, in: in}
	// The caller may leave while the job runs, because the job reads nothing that the caller may change.
	j := &job{batchKey: batchKey{p.encoder, in.Length()}, rows: in.Rows(), load: in.Tokens(), run: runEncodeJobs, work: e, mayLeave: true}
	if err := p.queues.encode.do(ctx, j); err != nil {
		return nil, err
	}
	return e.features, nil
}

// prepare tokenises texts or decodes images.
func (p *Policy) prepare(ctx context.Context, in Inputs) (*decide.Prepared, error) {
	if in.Texts != nil {
		return p.router.PrepareTexts(ctx, in.Texts)
	}
	return p.router.PrepareImages(ctx, in.Images)
}

// runEncodeJobs encodes the values of jobs as one batch. If that fails, it encodes each job alone, so that only the job with
// the error fails.
func runEncodeJobs(ctx context.Context, jobs []*job) {
	parts := make([]*decide.Prepared, len(jobs))
	for i, j := range jobs {
		parts[i] = j.work.(*encodeJob).in
	}
	p := jobs[0].work.(*encodeJob).policy
	features, err := p.router.EncodePrepared(ctx, parts...)
	if err != nil && len(jobs) > 1 && ctx.Err() == nil {
		for _, j := range jobs {
			runEncodeJobs(ctx, []*job{j})
		}
		return
	}
	for _, j := range jobs {
		e := j.work.(*encodeJob)
		if j.err = err; err == nil {
			end := e.in.Rows() * p.Info().Dim
			e.features, features = features[:end:end], features[end:]
		}
	}
}

// decideRows is the most rows of one request in one run.
const decideRows = 256

// Decide decides on n rows of features, n x Info().Dim, at the given prices; nil: those of [Policy.Prices]. Concurrent requests run
// in batches, also at different prices. The error is a *decide.RowError for a row with a feature that is not finite, or for
// which no pair may be chosen.
func (p *Policy) Decide(ctx context.Context, at *policy.Prices, features []float32, n int) (*policy.Decisions, error) {
	prices, finish := p.router.At(at)
	d, err := p.decide(ctx, prices, features, n)
	if err == nil && finish != nil {
		err = finish(d)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// decide decides at prices that are none (those of the file), one, or one for each row.
func (p *Policy) decide(ctx context.Context, prices []*policy.Prices, features []float32, n int) (*policy.Decisions, error) {
	dim, out := p.Info().Dim, (*policy.Decisions)(nil)
	if n < 1 || len(features) != n*dim {
		return nil, &InputsError{fmt.Sprintf("%d features for %d rows, the policy takes %d per row", len(features), n, dim)}
	}
	if n <= decideRows {
		return p.decidePart(ctx, prices, features, n)
	}
	for first := 0; first < n; first += decideRows {
		end := min(first+decideRows, n)
		part := prices
		if len(prices) > 1 {
			part = prices[first:end]
		}
		d, err := p.decidePart(ctx, part, features[first*dim:end*dim], end-first)
		if err != nil {
			return nil, offsetRow(err, first)
		}
		if out == nil {
			out = d
			continue
		}
		out.Action, out.Expert, out.Advice = append(out.Action, d.Action...), append(out.Expert, d.Expert...), append(out.Advice, d.Advice...)
		out.Scores, out.Loss, out.Cost = append(out.Scores, d.Scores...), append(out.Loss, d.Loss...), append(out.Cost, d.Cost...)
		if d.Accepted != nil {
			out.Accepted = append(out.Accepted, d.Accepted...)
		}
		for q, values := range d.Usage {
			out.Usage[q] = append(out.Usage[q], values...)
		}
	}
	return out, nil
}

// decideJob is the work of a job of the queue decide.
type decideJob struct {
	policy  *Policy
	request decide.Ask
}

func (p *Policy) decidePart(ctx context.Context, prices []*policy.Prices, features []float32, n int) (*policy.Decisions, error) {
	a := &decideJob{policy: p, request: decide.Ask{Features: features, Rows: n, Prices: prices}}
	if err := p.queues.decide.do(ctx, &job{batchKey: p, rows: n, run: runDecideJobs, work: a}); err != nil {
		return nil, err
	}
	return a.request.Answer, a.request.Err
}

// runDecideJobs decides for jobs as one batch. A run is too short to be worth cancelling.
func runDecideJobs(ctx context.Context, jobs []*job) {
	asks := make([]*decide.Ask, len(jobs))
	for i, j := range jobs {
		asks[i] = &j.work.(*decideJob).request
	}
	p, ctx := jobs[0].work.(*decideJob).policy, context.WithoutCancel(ctx)
	if p.cascade != nil {
		p.decideFirst(ctx, asks)
		return
	}
	p.router.Together(ctx, asks)
}
