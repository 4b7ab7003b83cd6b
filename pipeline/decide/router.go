package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"pipe/models/policy"
	"pipe/onnx/ort"
)

// Options say how Open opens a policy. The zero value is a policy that takes features, or has its encoder in front.
type Options struct {
	// Encoder makes the policy's features: encoder.json of the table that it was trained on, or an encoder of texts or
	// images (a folder as Hugging Face keeps models, an .onnx file, or org/name in the local cache). It is empty where the
	// policy takes features, and where pipe convert --merge put the encoder in front of it.
	Encoder string
	// Decoder of images: standard, libjpeg-turbo or auto. Empty: standard.
	Decoder string
	// Runtime runs the graphs and must outlive the router. Open it with one thread where calls run side by side, as in a
	// service. Nil: Open opens one with one thread, and Close closes it.
	Runtime *ort.Runtime
	// Workers is how many goroutines one call may use to encode a batch. 0: one.
	Workers int
}

// Router decides with one policy. All methods are safe for concurrent use.
type Router struct {
	file    *PolicyFile
	digest  string
	decider *policy.Decider
	input   string
	vectors vectors       // of texts or images
	table   *tableEncoder // of raw rows
	own     *ort.Runtime  // to be closed
	close   func() error
}

// Open opens the policy file at path, with its encoder if o names one.
//
// A file that is no policy is a *costs.DataError. An encoder that did not make the features that the policy was trained
// on is an *stage.OptionError: it is compared by the digest of the features, where the policy records it. A missing ONNX
// Runtime is an *ort.MissingLibraryError.
func Open(path string, o Options) (_ *Router, err error) {
	f, err := ReadPolicy(path)
	if err != nil {
		return nil, err
	}
	input, err := f.input(o.Encoder)
	if err != nil {
		return nil, err
	}
	rt, own := o.Runtime, (*ort.Runtime)(nil)
	if rt == nil {
		cfg := ort.DefaultConfig()
		cfg.Threads = 1
		if own, err = ort.Open(cfg); err != nil {
			return nil, err
		}
		rt = own
	}
	r, err := open(rt, f, input, o)
	if err != nil {
		if own != nil {
			err = errors.Join(err, own.Close())
		}
		return nil, err
	}
	r.own = own
	return r, nil
}

// open opens the policy, and what makes its features of an input.
func open(rt *ort.Runtime, f *PolicyFile, input string, o Options) (_ *Router, err error) {
	r := &Router{file: f, input: input}
	r.close = sync.OnceValue(r.closeAll)
	if r.digest, err = f.Digest(); err != nil {
		return nil, err
	}
	if r.decider, err = f.Open(rt); err != nil {
		return nil, err
	}
	switch input {
	case InputFeatures:
	case InputRow:
		r.table, err = openTable(f, o.Encoder)
	default:
		if r.vectors, err = openVectors(rt, f, input, o.Encoder, o.Decoder, max(1, o.Workers)); err == nil {
			err = f.fits(r.vectors.info())
		}
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close frees all that Open opened. It waits for calls that run; later ones fail with ort.ErrClosed. It may be called
// again.
func (r *Router) Close() error { return r.close() }

func (r *Router) closeAll() error {
	errs := []error{r.vectors.close(), r.decider.Close()}
	if r.own != nil {
		errs = append(errs, r.own.Close())
	}
	return errors.Join(errs...)
}

// Info is what the policy file says about itself: experts, advice and fees, lambda, the constant that it may be. Do not
// change it.
func (r *Router) Info() *policy.Info { return r.file.Info }

// Digest identifies the policy, whatever its file is called; see policy.Digest.
func (r *Router) Digest() string { return r.digest }

// Input is what the router decides on: InputFeatures, InputRow, InputText or InputImage. Features are taken by every
// router.
func (r *Router) Input() string { return r.input }

// Columns are the columns of raw rows that the policy sees; nil where it does not decide on rows.
func (r *Router) Columns() []string {
	if r.table == nil {
		return nil
	}
	return slices.Clone(r.table.columns)
}

// Features decides on the features of one row, as many as Info().Dim.
func (r *Router) Features(ctx context.Context, features []float32) (Decision, error) {
	return one(r.FeatureRows(ctx, [][]float32{features}))
}

// FeatureRows decides on the features of several rows. A row of another length, and a feature that is not finite, are a
// *RowError.
func (r *Router) FeatureRows(ctx context.Context, rows [][]float32) ([]Decision, error) {
	dim := r.file.Info.Dim
	features := make([]float32, 0, len(rows)*dim)
	for n, row := range rows {
		if len(row) != dim {
			return nil, &RowError{Row: n, Err: fmt.Errorf("has %d features, the policy takes %d", len(row), dim)}
		}
		features = append(features, row...)
	}
	return r.decide(ctx, features, len(rows))
}

// Without decides again on the scores of a decision, without some experts and advice: "expert=NAME" or "advice=NAME"
// each. An unknown name is an error that lists the known ones; so is an exclusion after which no pair is left.
func (r *Router) Without(d Decision, excluded ...string) (Decision, error) {
	available, err := policy.ParseWithout(r.file.Info.Actions, excluded)
	if err != nil {
		return Decision{}, fmt.Errorf("decide: %w", err)
	}
	a := r.file.Info.Actions
	again := policy.Decisions{
		Actions: a.Len(), Levels: len(a.Advice), Action: []int64{int64(d.Action)}, Expert: []int64{int64(d.ExpertIndex)},
		Advice: []int64{int64(d.AdviceIndex)}, Scores: d.Scores,
	}
	if len(d.Scores) != again.Actions {
		return Decision{}, fmt.Errorf("decide: a decision with %d scores is not one of this policy, which has %d pairs", len(d.Scores), again.Actions)
	}
	if available[d.Action] {
		return d, nil
	}
	if err := again.Masked(available); err != nil {
		return Decision{}, fmt.Errorf("decide: %w", err)
	}
	return decisionOf(a, int(again.Action[0]), d.Scores), nil
}

// Ranked lists the pairs that the policy may choose, by action: the chosen one first, then the others by their scores.
func (r *Router) Ranked(d Decision) []int {
	order := []int{d.Action}
	for i, s := range d.Scores {
		if i != d.Action && s > policy.ExcludedBelow {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order[1:], func(i, j int) int {
		switch {
		case d.Scores[i] > d.Scores[j]:
			return -1
		case d.Scores[i] < d.Scores[j]:
			return 1
		}
		return 0
	})
	return order
}

// decide decides on features, n x Dim.
func (r *Router) decide(ctx context.Context, features []float32, n int) ([]Decision, error) {
	d, err := r.decider.Decide(ctx, features, n)
	if err != nil {
		return nil, err
	}
	return decisions(r.file.Info.Actions, d), nil
}

// one is the decision of a batch of one row.
func one(d []Decision, err error) (Decision, error) {
	if err != nil {
		return Decision{}, err
	}
	return d[0], nil
}
