package models

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/costs"
)

// Affine is y = W x + B.
type Affine struct {
	Out, In int
	W       []float32 // Out x In, row-major
	B       []float32 // Out
}

// MLP is a chain of affine layers with ReLU between them and none at the end.
type MLP struct {
	Layers []Affine
}

// In is the width of the input, Out that of the output; 0 without layers.
func (m MLP) In() int {
	if len(m.Layers) == 0 {
		return 0
	}
	return m.Layers[0].In
}

// Out is the width of the last layer; 0 without layers.
func (m MLP) Out() int {
	if len(m.Layers) == 0 {
		return 0
	}
	return m.Layers[len(m.Layers)-1].Out
}

// Decoder names how the outputs of a member become scores of actions.
type Decoder string

// The decoders; columns are those of a member's last layer, in this order.
const (
	// DecoderComposite: one score per action, J(K+1) columns, expert-major.
	DecoderComposite Decoder = "composite"
	// DecoderL2D: actions without advice only, J columns (or J(K+1), of which
	// those with advice are ignored).
	DecoderL2D Decoder = "l2d"
	// DecoderSeparated: J = 2 and K = 1; router score r, then one query score
	// per expert. expert = 1{r >= 0}, advice = 1{q_expert >= 0}.
	DecoderSeparated Decoder = "separated"
	// DecoderSeparatedSoftmax: J router scores, then J rows of K+1 query
	// scores; the best expert, then the best advice in its row.
	DecoderSeparatedSoftmax Decoder = "separated_softmax"
	// DecoderFixed: no members; the same action everywhere.
	DecoderFixed Decoder = "fixed"
)

// Policy maps features to actions. It is what training ends with and what a
// policy file is written from.
type Policy struct {
	Actions *costs.Actions
	Method  string  // such as "ours" or "l2d"
	Recipe  string  // such as "paper" or "auto"
	Lambda  float64 // the regime it was trained for
	Tau     float64 // of the surrogate
	Decoder Decoder

	Dim      int // width of the features; 0 means that of the first member
	Standard Standardizer
	// Members are averaged: log-probabilities for composite and l2d, router and
	// query scores, which are log-odds up to a constant, for the separated ones.
	Members []MLP

	// Fixed is the action of DecoderFixed. FixedScores, J(K+1) values or nil,
	// orders the others for when Fixed is masked out: higher is better (minus
	// the mean training cost, say), and Fixed must have the best.
	Fixed       int
	FixedScores []float64

	// Info is further metadata by key without the "pipe." prefix: settings,
	// guard, training_digest, validation and the like, JSON where structured.
	Info map[string]string
}

// FeatureDim is the width of the features that the policy takes.
func (p *Policy) FeatureDim() int {
	if p.Dim == 0 && len(p.Members) > 0 {
		return p.Members[0].In()
	}
	return p.Dim
}

// Validate reports every problem of the policy at once.
func (p *Policy) Validate() error {
	if p.Actions == nil {
		return errors.New("policy has no actions")
	}
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if err := p.Actions.Validate(); err != nil {
		return err
	}
	if p.FeatureDim() < 1 {
		add("policy takes %d features", p.FeatureDim())
	}
	if d := p.Actions.Features.Dim; d != 0 && d != p.FeatureDim() {
		add("policy takes %d features, its actions say %d", p.FeatureDim(), d)
	}
	if !finite(p.Lambda) || p.Lambda < 0 || !finite(p.Tau) || p.Tau < 0 {
		add("lambda %v and tau %v must be finite and not negative", p.Lambda, p.Tau)
	}
	p.checkStandard(add)
	for i, m := range p.Members {
		checkMember(add, i, m, p.FeatureDim())
	}
	for key := range p.Info {
		if reservedKeys[key] || key == "" {
			add("info key %q is taken", key)
		}
	}
	if d, err := p.decoder(); err != nil {
		add("%w", err)
	} else if err := d.check(p); err != nil {
		add("%w", err)
	}
	return errors.Join(problems...)
}

func (p *Policy) checkStandard(add func(string, ...any)) {
	s := p.Standard
	if s.Mean == nil && s.Scale == nil {
		return
	}
	if len(s.Mean) != p.FeatureDim() || len(s.Scale) != p.FeatureDim() {
		add("standardizer has %d means and %d scales for %d features", len(s.Mean), len(s.Scale), p.FeatureDim())
	}
	if firstNonFinite(s.Mean) >= 0 || firstNonFinite(s.Scale) >= 0 {
		add("standardizer has a value that is not finite")
	}
}

func checkMember(add func(string, ...any), i int, m MLP, dim int) {
	width := dim
	if len(m.Layers) == 0 {
		add("member %d has no layers", i)
	}
	for l, a := range m.Layers {
		if a.In != width || a.Out < 1 || len(a.W) != a.Out*a.In || len(a.B) != a.Out {
			add("member %d: layer %d is %d x %d with %d weights and %d biases after a width of %d",
				i, l, a.Out, a.In, len(a.W), len(a.B), width)
			return
		}
		if firstNonFinite(a.W) >= 0 || firstNonFinite(a.B) >= 0 {
			add("member %d: layer %d has a value that is not finite", i, l)
		}
		width = a.Out
	}
}

// checkWidths refuses members whose last layer has none of the given widths.
func (p *Policy) checkWidths(widths ...int) error {
	if len(p.Members) == 0 {
		return fmt.Errorf("a %s policy needs at least one member", p.Decoder)
	}
	for i, m := range p.Members {
		if !slices.Contains(widths, m.Out()) {
			return fmt.Errorf("member %d has %d outputs, a %s policy needs %v", i, m.Out(), p.Decoder, widths)
		}
	}
	return nil
}

func (p *Policy) decoder() (decoder, error) {
	if d, ok := decoders[p.Decoder]; ok {
		return d, nil
	}
	known := make([]string, 0, len(decoders))
	for name := range decoders {
		known = append(known, string(name))
	}
	slices.Sort(known)
	return nil, fmt.Errorf("unknown decoder %q; known are %s", p.Decoder, strings.Join(known, ", "))
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
