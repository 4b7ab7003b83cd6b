package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pipe/featurize/pixel"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// Options are the options of Open. The zero value is for a policy that takes features, or has its encoder in front.
type Options struct {
	// Encoder computes the policy's features: encoder.json of the table that the policy was trained on, or an encoder
	// of texts or images (a Hugging Face model folder, an .onnx file, or org/name in the local cache). It is empty if
	// the policy takes features, or if pipe convert --merge put the encoder in front of it.
	Encoder string
	// Shared is the open encoder of the policy, which other routers may share: see [PolicyFile.Encoder]. Close leaves it open.
	// Nil: the router opens the encoder and closes it.
	Shared *Encoder
	// FeaturesOnly leaves an encoder in front of the policy closed: the router takes features and nothing else.
	FeaturesOnly bool
	// Decoder of images: standard, libjpeg-turbo or auto. Empty: standard.
	Decoder string
	// Runtime runs the graphs and must outlive the router. Open it with one thread if calls run in parallel, as in a
	// service. Nil: Open opens a runtime with one thread, and Close closes it.
	Runtime *ort.Runtime
	// Workers is the number of goroutines that one call may use to encode a batch. 0: one.
	Workers int
	// Prices are how the prices differ from those that the policy was trained with. Lambda and fees can be changed of an
	// any-price policy only.
	Prices policy.PriceChange
	// PriceFile has prices of what calls use, for a policy with usage; empty: those of its training.
	PriceFile storage.Location
}

// checkDecoder reports an unknown decoder of images; empty is the standard one.
func checkDecoder(name string) error {
	if name != "" && !slices.Contains(pixel.DecoderNames, name) {
		return fmt.Errorf("decide: unknown decoder %q; known are %s", name, strings.Join(pixel.DecoderNames, ", "))
	}
	return nil
}

// Router decides with one policy. All methods are safe for concurrent use. Only Open makes one: the zero Router decides
// nothing and returns errors.
type Router struct {
	file    *PolicyFile
	digest  string
	decider *policy.Decider
	input   string
	vectors vectors       // of what an encoder reads; nil: there is none
	shared  bool          // others use the vectors too
	table   *tableEncoder // of raw rows
	prices  *policy.Prices
	own     *ort.Runtime // to be closed
	close   func() error
	closed  atomic.Bool
}

// ready returns why the router cannot decide.
func (r *Router) ready() error {
	switch {
	case r == nil || r.file == nil:
		return errors.New("decide: the router was not made by Open")
	case r.closed.Load():
		return fmt.Errorf("decide: router %w", ort.ErrClosed)
	}
	return nil
}

// Open opens a policy file, with its encoder if o names one.
//
// A file that is not a policy is a *costs.DataError. An unknown decoder, and prices that do not fit the policy, are an
// *stage.OptionError. So is an encoder that did not make the features of the policy's training; they are compared by the
// digest of the features, if the policy records it. A missing ONNX Runtime is an *ort.MissingLibraryError.
func Open(ctx context.Context, pathOrURL string, o Options) (*Router, error) {
	at, err := storage.Parse(pathOrURL)
	if err != nil {
		return nil, err
	}
	return OpenAt(ctx, at, o)
}

// OpenAt is Open for a location.
func OpenAt(ctx context.Context, at storage.Location, o Options) (*Router, error) {
	f, err := ReadPolicy(ctx, at)
	if err != nil {
		return nil, err
	}
	return OpenFile(ctx, f, o)
}

// OpenFile is Open for a policy that has been read.
func OpenFile(ctx context.Context, f *PolicyFile, o Options) (_ *Router, err error) {
	if err := checkDecoder(o.Decoder); err != nil {
		return nil, &stage.OptionError{Err: err}
	}
	if o.Encoder, err = fetchEncoder(ctx, o.Encoder); err != nil {
		return nil, err
	}
	input := InputFeatures
	if !o.FeaturesOnly {
		if input, err = f.input(ctx, o.Encoder); err != nil {
			return nil, err
		}
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
	r, err := open(ctx, rt, f, input, o)
	if err != nil {
		if own != nil {
			err = errors.Join(err, own.Close())
		}
		return nil, err
	}
	r.own = own
	return r, nil
}

// open opens the policy and the encoder that computes its features.
func open(ctx context.Context, rt *ort.Runtime, f *PolicyFile, input string, o Options) (_ *Router, err error) {
	r := &Router{file: f, input: input}
	r.close = sync.OnceValue(r.closeAll)
	if err = f.PriceUsage(ctx, o.PriceFile, &o.Prices); err != nil {
		return nil, err
	}
	if r.prices, err = f.price(o.Prices); err != nil {
		return nil, err
	}
	if r.digest, err = f.Digest(); err != nil {
		return nil, err
	}
	if r.decider, err = f.Open(rt); err != nil {
		return nil, err
	}
	switch input {
	case InputFeatures:
	case InputRow:
		r.table, err = openTable(ctx, f, storage.File(o.Encoder))
	default:
		err = r.openVectors(rt, o)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// openVectors opens the encoder of texts or images, or takes the one that is shared, and compares it with the policy.
func (r *Router) openVectors(rt *ort.Runtime, o Options) (err error) {
	switch {
	case o.Shared == nil:
		r.vectors, err = openVectors(rt, r.file, r.input, encoderOptions{o.Encoder, o.Decoder, max(1, o.Workers)})
	case o.Shared.input != r.input:
		err = &InputError{Takes: r.input, Given: o.Shared.input}
	default:
		r.vectors, r.shared = o.Shared.vectors, true
	}
	if err != nil {
		return err
	}
	return r.file.fits(infoOf(r.input, r.vectors))
}

// Close frees everything that Open opened. It waits for running calls; later ones fail with ort.ErrClosed. It is
// idempotent.
func (r *Router) Close() error {
	if r == nil || r.close == nil {
		return nil
	}
	return r.close()
}

func (r *Router) closeAll() error {
	r.closed.Store(true)
	var errs []error
	if r.vectors != nil && !r.shared {
		errs = append(errs, r.vectors.Close())
	}
	errs = append(errs, r.decider.Close())
	if r.own != nil {
		errs = append(errs, r.own.Close())
	}
	return errors.Join(errs...)
}

// Info is the metadata of the policy file: experts, advice and fees, lambda, and the pair of a constant. Do not change
// it. It is nil for the zero Router.
func (r *Router) Info() *policy.Info {
	if r.file == nil {
		return nil
	}
	return r.file.Info
}

// Prices are those of the policy file, or as Options.Prices changed them. Do not change them. They are nil for the zero
// Router.
func (r *Router) Prices() *policy.Prices { return r.prices }

// Digest identifies the policy, independent of its file name; see policy.Digest.
func (r *Router) Digest() string { return r.digest }

// Input is the router's kind of input: InputFeatures, InputRow, InputText or InputImage. Every router also takes
// features.
func (r *Router) Input() string { return r.input }

// Columns are the columns of raw rows that the policy uses; nil if the router does not take rows.
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

// FeatureRows decides on the features of several rows. A row of the wrong length, or a feature that is not finite, is a
// *RowError.
func (r *Router) FeatureRows(ctx context.Context, rows [][]float32) ([]Decision, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	dim := r.file.Info.Dim
	features := make([]float32, 0, len(rows)*dim)
	for n, row := range rows {
		if len(row) != dim {
			return nil, fmt.Errorf("decide: %w", &RowError{Row: n, Err: fmt.Errorf("has %d features, the policy takes %d", len(row), dim)})
		}
		features = append(features, row...)
	}
	return r.decide(ctx, features, len(rows))
}

// Batch is [Router.FeatureRows] on n rows of features, n x Dim, without the names of the pairs.
func (r *Router) Batch(ctx context.Context, features []float32, n int) (*policy.Decisions, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	return r.batch(ctx, features, n)
}

// Without decides again on the scores of a decision, with some experts, advice and pairs excluded. Exclusions add up: those
// that the decision already has (see Decision.Excluded) still hold. It is an error if a name is unknown, which lists the known ones, if no pair remains, or if the decision is not
// one of this policy.
func (r *Router) Without(d Decision, excluded ...policy.Part) (Decision, error) {
	if r == nil || r.file == nil {
		return Decision{}, r.ready()
	}
	a := r.file.Info.Actions
	switch n := a.Len(); {
	case len(d.Scores) != n:
		return Decision{}, fmt.Errorf("decide: the decision has %d scores, but this policy has %d pairs", len(d.Scores), n)
	case d.Action < 0 || d.Action >= n:
		return Decision{}, fmt.Errorf("decide: the decision has the action %d, but this policy has the actions 0 to %d", d.Action, n-1)
	}
	all := addUp(d.Excluded, excluded)
	available, err := r.remaining(all)
	if err != nil {
		return Decision{}, fmt.Errorf("decide: %w", err)
	}
	if available[d.Action] {
		d.Excluded = all
		return d, nil
	}
	again := policy.Decisions{
		Actions: a.Len(), Levels: len(a.Advice), Action: []int64{int64(d.Action)}, Expert: []int64{int64(d.ExpertIndex)},
		Advice: []int64{int64(d.AdviceIndex)}, Scores: d.Scores,
	}
	if err := again.Masked(available); err != nil {
		return Decision{}, fmt.Errorf("decide: %w", err)
	}
	next := decisionOf(a, int(again.Action[0]), d.Scores)
	next.Loss, next.Cost, next.Excluded = d.Loss, d.Cost, all
	if d.Accepted != nil {
		next.Accepted = new(bool) // another decision than that of the guarantee
	}
	return next, nil
}

// remaining are the pairs that may be chosen after further exclusions.
func (r *Router) remaining(excluded []policy.Part) ([]bool, error) {
	available, err := policy.Without(r.file.Info.Actions, excluded)
	for i := range available {
		available[i] = available[i] && r.prices.Available[i]
	}
	return available, err
}

// addUp returns a new list of the old exclusions and of those in more that are not among them; nil if there are none.
func addUp(old, more []policy.Part) []policy.Part {
	all := slices.Concat(old, nil)
	for _, e := range more {
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}

// Ranked lists the actions that the policy may choose: the chosen one first, then the others by score. Those that
// Without excluded are left out. It is empty for a decision that is not one of this policy.
func (r *Router) Ranked(d Decision) []int {
	if r == nil || r.file == nil {
		return nil
	}
	available, err := r.remaining(d.Excluded)
	if err != nil || len(d.Scores) != len(available) || d.Action < 0 || d.Action >= len(available) {
		return nil
	}
	order := []int{d.Action}
	for i, s := range d.Scores {
		if i != d.Action && available[i] && s > policy.ExcludedBelow {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order[1:], func(i, j int) int { return cmp.Compare(d.Scores[j], d.Scores[i]) })
	return order
}

// decide decides on features, n x Dim.
func (r *Router) decide(ctx context.Context, features []float32, n int) ([]Decision, error) {
	d, err := r.batch(ctx, features, n)
	if err != nil {
		return nil, err
	}
	return decisions(r.file.Info.Actions, d), nil
}

// batch decides on features, n x Dim, at the router's prices. A file with fixed prices takes no mask: its scores are
// compared again among the pairs that may be chosen.
func (r *Router) batch(ctx context.Context, features []float32, n int) (*policy.Decisions, error) {
	if r.file.Info.Prices != nil {
		return r.decider.DecideAt(ctx, r.prices, features, n)
	}
	d, err := r.decider.Decide(ctx, features, n)
	if err == nil && !slices.Equal(r.prices.Available, r.file.Info.Actions.Mask()) {
		err = d.Masked(r.prices.Available)
	}
	return d, err
}

// one is the decision of a batch with one row.
func one(d []Decision, err error) (Decision, error) {
	if err != nil {
		return Decision{}, err
	}
	return d[0], nil
}
