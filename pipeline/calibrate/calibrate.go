package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/seeded"
	"pipe/models/policy"
	"pipe/models/risk"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// Run writes the policy with a guarantee and its description. If no threshold keeps the promise, nothing is written, and the error is an
// *InfeasibleError.
func Run(ctx context.Context, o Options, progress stage.Progress) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.files(ctx).Check(ctx); err != nil {
		return nil, err
	}
	progress = stage.OrQuiet(progress)
	progress.Start(-1, "calibrate")
	defer progress.Done()
	t, err := costs.Read(ctx, o.Tensor, costs.ReadOptions{Actions: o.Actions, Unknown: true})
	if err != nil {
		return nil, err
	}
	rt, err := ort.Open(o.Runtime)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	file, err := o.read(ctx, t)
	if err != nil {
		return nil, err
	}
	split, err := ParseSplit(o.Split)
	if err != nil {
		return nil, err
	}
	for _, note := range costs.RepeatNotes(costs.RepeatsIn(t, nil, costs.Train, split)) {
		progress.Note("%s", note)
	}
	early, err := Possible(t, split, o.Settings)
	if err != nil {
		return nil, fmt.Errorf("calibrate %q on %q: %w", o.Policy, o.Tensor, err)
	}
	progress.Note("%s", early)
	m, r, err := Policy(ctx, rt, file, t, split, o.Settings)
	if err != nil {
		return nil, fmt.Errorf("calibrate %q on %q: %w", o.Policy, o.Tensor, err)
	}
	r.Policy, r.Tensor, r.Out = o.Policy.String(), o.Tensor.String(), o.Out.String()
	return r, stage.InTurn(ctx, o.Out.Dir(), func() error {
		_, err := decide.WritePolicy(ctx, o.Out, m)
		return err
	})
}

// read reads the policy or the cascade, and checks that it matches t.
func (o Options) read(ctx context.Context, t *costs.Tensor) (*onnx.Model, error) {
	f, err := decide.ReadPolicy(ctx, o.Policy)
	var staged *policy.CascadeError
	if errors.As(err, &staged) {
		f, err := decide.ReadCascade(ctx, o.Policy) // it is matched when it is played
		if err != nil {
			return nil, err
		}
		return f.Model(), nil
	}
	if err != nil {
		return nil, err
	}
	if f.About != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: has an encoder in front: calibrate the policy alone, then put the encoder in front of it (pipe convert --merge)", o.Policy)}
	}
	if err := f.Info.Matches(t); err != nil {
		return nil, fmt.Errorf("policy %q: %w", o.Policy, &costs.DataError{Err: err})
	}
	return f.Model(), nil
}

// Policy returns a policy file, or a cascade file, with a guarantee that is calibrated on the rows of a split of t, which must match the
// policy and have trained nothing of it. That of a cascade is about the answer that it accepts in the end. An expert that the policy lacks, and
// prices that it cannot have, are a *stage.OptionError; losses that do not fit are a *costs.DataError; if no threshold keeps the promise, the error is an *InfeasibleError.
func Policy(ctx context.Context, rt *ort.Runtime, m *onnx.Model, t *costs.Tensor, split costs.Split, s Settings) (_ *onnx.Model, _ *Report, err error) {
	c := calibration{t: t, s: s, rows: t.Rows(split)}
	if c.decider, err = open(rt, m); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.decider.Close()) }()
	if len(c.rows) == 0 {
		return nil, nil, noRows(split)
	}
	// Bets on losses look at one after the other, and rows may be sorted.
	seeded.Stream(s.Seed, "calibration rows", 0).Shuffle(len(c.rows), func(i, j int) { c.rows[i], c.rows[j] = c.rows[j], c.rows[i] })
	if err := c.setPrices(); err != nil {
		return nil, nil, err
	}
	thresholds, err := c.thresholds(ctx, split)
	if err != nil {
		return nil, nil, err
	}
	rows, err := c.decided(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := &Report{Format: 1}
	choice, ok, err := risk.Choose(thresholds, rows, s.Settings)
	if err == nil {
		r.Reach, err = risk.Reaches(levels(s.Settings), thresholds, rows, s.Settings)
	}
	if err != nil {
		return nil, nil, c.ofRow(err)
	}
	r.Rows = len(c.rows)
	if !ok {
		return nil, nil, &InfeasibleError{Risk: s.Risk, Confidence: s.confidence(), Rows: len(c.rows), Reach: r.Reach}
	}
	r.Guarantee = c.guarantee(choice, split)
	out, err := c.decider.withGuarantee(m, r.Guarantee)
	if err != nil {
		err = &stage.OptionError{Err: err}
	}
	return out, r, err
}

func noRows(split costs.Split) error {
	return &costs.DataError{Column: "split", Msg: fmt.Sprintf("there are no rows of split %s, on which the guarantee would be calibrated", split)}
}

// calibration are the rows and the prices of one guarantee.
type calibration struct {
	decider decider
	t       *costs.Tensor
	s       Settings
	rows    []int
	prices  []*policy.Prices // at each of which the promise has to hold; of random prices those of every row
	law     string
}

// setPrices lists the prices of the promise.
func (c *calibration) setPrices() error {
	info := c.decider.info()
	lambdas := c.s.Lambdas
	switch {
	case info.Prices == nil && (len(lambdas) > 0 || c.s.Random):
		return &stage.OptionError{Err: fmt.Errorf("%w, those of lambda %g: only an any-price policy has a guarantee at others", policy.ErrFixedPrices, info.Lambda)}
	case info.Prices == nil:
		lambdas = []float64{info.Lambda}
	case c.s.Random:
		c.law, c.prices = RandomPrices(info, len(c.rows), c.s.Seed)
		return nil
	case len(lambdas) == 0:
		lambdas = slices.DeleteFunc(slices.Clone(DefaultLambdas), func(l float64) bool { return l < info.Prices.Lambda[0] || l > info.Prices.Lambda[1] })
		if !slices.Contains(lambdas, info.Lambda) {
			lambdas = append(lambdas, info.Lambda)
		}
	}
	for _, lambda := range lambdas {
		c.prices = append(c.prices, info.PriceAt(info.Actions, lambda, nil))
	}
	return nil
}

// decided are the decisions on the calibration rows at every price.
func (c *calibration) decided(ctx context.Context) (rows risk.Rows, err error) {
	rows.Cluster, rows.Binary = c.t.Clusters(c.rows).Of, c.binary()
	err = c.eachPrice(ctx, c.rows, func(actions []int, scores []float32) {
		d := risk.Decisions{Score: scores}
		for m, n := range c.rows {
			d.Loss = append(d.Loss, c.loss(c.t.Losses(n)[actions[m]]))
		}
		rows.At = append(rows.At, d)
	})
	return rows, err
}

// loss is a loss of the table. The largest one is exactly the bound, of which a table has 24 bits.
func (c *calibration) loss(v float32) float64 {
	if v == float32(c.s.Bound) {
		return c.s.Bound
	}
	return float64(v)
}

// binary reports whether every loss of the table is 0 or the largest one, also of pairs that are not chosen.
func (c *calibration) binary() bool {
	return !slices.ContainsFunc(c.t.Loss, func(v float32) bool { return v == v && v != 0 && c.loss(v) != c.s.Bound })
}

// mostOthers bounds the rows that thresholds are taken from.
const mostOthers = 20000

// thresholds are taken from the scores of rows that do not calibrate: of the other held-out split, or else of training rows, whose
// scores the policy knows better. Their losses do not count.
func (c *calibration) thresholds(ctx context.Context, split costs.Split) ([]float32, error) {
	others := c.t.Rows(costs.Val)
	if split == costs.Val {
		others = c.t.Rows(costs.Test)
	}
	if len(others) < 100 {
		others = c.t.Rows(costs.Train)
	}
	if step := len(others)/mostOthers + 1; step > 1 {
		few := others[:0:0]
		for i := 0; i < len(others); i += step {
			few = append(few, others[i])
		}
		others = few
	}
	if len(others) == 0 {
		return even(c.s.Bound), nil
	}
	var all []float32
	prices := c.prices
	if c.law != "" {
		_, c.prices = RandomPrices(c.decider.info(), len(others), c.s.Seed+1)
		defer func() { c.prices = prices }()
	}
	err := c.eachPrice(ctx, others, func(_ []int, scores []float32) { all = append(all, scores...) })
	return risk.Thresholds(all), err
}

// even are thresholds without any other rows: a hundredth of the largest loss apart.
func even(bound float64) []float32 {
	scores := make([]float32, 100)
	for i := range scores {
		scores[i] = float32(bound * float64(i+1) / 100)
	}
	return risk.Thresholds(scores)
}

// eachPrice decides rows at every price. Scores are the expected losses of what is decided.
func (c *calibration) eachPrice(ctx context.Context, rows []int, use func(actions []int, scores []float32)) error {
	if c.law != "" {
		actions, scores, err := c.decider.atRandom(ctx, c.t, rows, c.prices)
		if err == nil {
			use(actions, scores)
		}
		return err
	}
	for _, p := range c.prices {
		actions, scores, err := c.decider.at(ctx, c.t, rows, p)
		if err != nil {
			return err
		}
		use(actions, scores)
	}
	return nil
}

// ofRow names the row of a loss that cannot be used.
func (c *calibration) ofRow(err error) error {
	var loss *risk.LossError
	if !errors.As(err, &loss) {
		return err
	}
	n := c.rows[loss.Row]
	return &costs.DataError{Column: "loss", Row: n + 1, Msg: fmt.Sprintf("id %q", c.t.IDs[n]), Err: loss}
}

func (c *calibration) guarantee(choice risk.Choice, split costs.Split) policy.Guarantee {
	g := policy.Guarantee{
		Risk: c.s.Risk, Confidence: c.s.confidence(), Method: string(c.s.Method), Joint: c.s.Method == risk.CRC, Bound: c.s.Bound,
		Split: split.String(), Tensor: c.t.Digest(), Rows: len(c.rows), Law: c.law, Instead: policy.Instead{Name: policy.Abstain, Fee: c.s.AbstainFee},
	}
	if c.s.Instead != "" {
		g.Instead.Name = c.s.Instead
	}
	if threshold := float64(choice.Threshold); threshold <= math.MaxFloat32 {
		g.Threshold = &threshold
	}
	for i, seen := range choice.At {
		at := policy.GuaranteedPrice{Accepted: seen.Accepted, Samples: seen.Samples}
		if c.law == "" {
			at.Lambda = c.prices[i].Lambda
		}
		if seen.Samples > 0 {
			at.Loss = &seen.Risk
		}
		g.At = append(g.At, at)
	}
	return g
}

// confidence is that of the promise; 0 where it has none.
func (s Settings) confidence() float64 {
	if s.Method == risk.CRC {
		return 0
	}
	return s.Confidence
}
