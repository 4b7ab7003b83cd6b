package policies

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pipe/internal/parallel"
	"pipe/models/policy"
	"pipe/pipeline/decide"
)

// Policy is one version of a policy, leased by [Set.Acquire] until Release. All methods are safe for concurrent use.
type Policy struct {
	Name   string    // of the file, without .onnx
	Digest string    // of the policy, see policy.Digest: its version
	File   string    // where it was read
	Loaded time.Time // when it was

	router  *decide.Router
	encoder *encoder // of texts or images; nil: there is none
	content string   // identifies the content of the file and the encoder's
	queues  *queues
	graph   *Graph

	leases atomic.Int64    // those of callers, and one of the set
	live   *sync.WaitGroup // done when the last lease has ended and everything is closed
	failed error           // of closing
}

// queues are those that the policies of a set share.
type queues struct{ encode, decide *queue }

// lease counts one more user. It fails when the last one has left.
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
		p.failed = errors.Join(p.router.Close(), p.encoder.release())
		p.live.Done()
	}
}

// Info is the metadata of the policy file; do not change it.
func (p *Policy) Info() *policy.Info { return p.router.Info() }

// Prices are those of the file; do not change them.
func (p *Policy) Prices() *policy.Prices { return p.router.Prices() }

// Input is the kind of input besides features: decide.InputText, InputImage or InputRow; decide.InputFeatures if there is
// no other.
func (p *Policy) Input() string { return p.router.Input() }

// Columns are the columns of raw rows that the policy uses; nil if it does not take rows.
func (p *Policy) Columns() []string { return p.router.Columns() }

// Inputs are rows of one kind: exactly one field is not nil.
type Inputs struct {
	Features []float32           // n x Info().Dim
	Rows     []map[string]string // raw columns by name
	Texts    []string
	Images   [][]byte // bytes of the files
}

// kind is the kind of input and the number of its values.
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

// Encode returns the features of the rows of an input, n x Info().Dim: features as they are given, others from the encoder.
// Texts and images of several requests are encoded together. An input that the policy does not take is a
// *decide.InputError, a bad row a *decide.RowError.
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

// encode computes the features of texts or images. Token ids and pixels are made before they wait, so that a bad text or
// image is found before it meets those of others. Many go in parts, so that other requests come in between.
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
		var row *decide.RowError
		if errors.As(err, &row) {
			err = fmt.Errorf("decide: %w", &decide.RowError{Row: parts[i].At[row.Row], Err: row.Err})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// encodeJob is the work of a job that encodes.
type encodeJob struct {
	policy   *Policy
	in       *decide.Prepared
	features []float32
}

// batchKey is what encodings have in common that run together: policies with the same encoder share its runs, and texts of
// other lengths would gain nothing.
type batchKey struct {
	encoder *encoder
	length  int // tokens of every text
}

// encodePart encodes values of one length in one job.
func (p *Policy) encodePart(ctx context.Context, in *decide.Prepared) ([]float32, error) {
	e := &encodeJob{policy: p, in: in}
	// The caller may leave: nothing that it owns is read any more. The encoder stays open until the run has ended.
	j := &job{batchKey: batchKey{p.encoder, in.Length()}, rows: in.Rows(), load: in.Tokens(), run: runEncodeJobs, work: e, mayLeave: true}
	if err := p.queues.encode.do(ctx, j); err != nil {
		return nil, err
	}
	return e.features, nil
}

// prepare makes token ids or pixels.
func (p *Policy) prepare(ctx context.Context, in Inputs) (*decide.Prepared, error) {
	if in.Texts != nil {
		return p.router.PrepareTexts(ctx, in.Texts)
	}
	return p.router.PrepareImages(ctx, in.Images)
}

// runEncodeJobs encodes the values of jobs together. Where one fails, each is encoded alone, so that only the bad one fails.
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

// decideRows is the most rows of one request that run at once.
const decideRows = 256

// Decide decides on n rows of features, n x Info().Dim, at some prices; nil are those of the file. Requests are decided
// together, also at different prices. A feature that is not finite, and a row for which no pair is left, is a
// *decide.RowError.
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
	}
	return out, nil
}

// decideJob is the work of a job that decides.
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

// runDecideJobs decides for jobs together. A run is short: it is not worth to stop it.
func runDecideJobs(ctx context.Context, jobs []*job) {
	asks := make([]*decide.Ask, len(jobs))
	for i, j := range jobs {
		asks[i] = &j.work.(*decideJob).request
	}
	jobs[0].work.(*decideJob).policy.router.Together(context.WithoutCancel(ctx), asks)
}
