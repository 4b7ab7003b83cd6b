package models

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Settings are the settings that all models of one Train call share. Zero never means "default": start from
// [DefaultSettings].
type Settings struct {
	Hidden    []int   `json:"hidden" yaml:"hidden"`         // widths of the ReLU layers; empty: a linear scorer
	Head      string  `json:"head" yaml:"head"`             // last layer: "low_rank" (the paper's) or "linear"
	Surrogate string  `json:"surrogate" yaml:"surrogate"`   // training loss: that of a [Method], or "weighted" for classifiers
	Epochs    int     `json:"epochs" yaml:"epochs"`         // passes over a model's rows
	Batch     int     `json:"batch" yaml:"batch"`           // instances per step; the last minibatch of an epoch may be smaller
	Schedule  string  `json:"schedule" yaml:"schedule"`     // "none" or "cosine" (to zero)
	Warmup    float64 `json:"warmup" yaml:"warmup"`         // share of all steps with a linearly rising rate, cosine only
	TauWarmup float64 `json:"tau_warmup" yaml:"tau_warmup"` // share of all steps in which tau goes linearly from 1 to a model's own
	Clip      float64 `json:"clip" yaml:"clip"`             // largest global gradient norm
	Init      string  `json:"init" yaml:"init"`             // "fan_in" (PyTorch's default), "xavier" (Glorot and Bengio) or "he"
	Workers   int     `json:"workers" yaml:"workers"`       // single-threaded sessions side by side
	Group     int     `json:"group" yaml:"group"`           // most models in one session; 0: chosen from the shapes
}

// DefaultSettings is the paper's synthetic recipe, on all cores.
func DefaultSettings() Settings {
	return Settings{
		Hidden: []int{32, 32}, Head: "low_rank", Surrogate: "comp_sum",
		Epochs: 120, Batch: 256, Schedule: "none", Warmup: 0.05, Clip: 10,
		Init: "fan_in", Workers: runtime.GOMAXPROCS(0),
	}
}

// widest keeps the weights between two layers within the memory of a machine and the 2 GiB of an ONNX file.
const widest = 1 << 14

// Validate reports every invalid setting. It knows the surrogates of this package; [Train] also accepts the one in its
// options.
func (s Settings) Validate() error {
	_, err := surrogateNamed(s.Surrogate)
	return errors.Join(s.check(), err)
}

// check is Validate without the surrogate, which may be a caller's.
func (s Settings) check() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for i, h := range s.Hidden {
		bad(h > 0 && h <= widest, "hidden: layer %d has width %d, not 1 to %d", i, h, widest)
	}
	bad(s.Epochs > 0, "epochs: %d, at least 1 is needed", s.Epochs)
	bad(s.Batch > 0, "batch: %d, at least 1 is needed", s.Batch)
	bad(s.Schedule == "none" || s.Schedule == "cosine", "schedule: %q, known are none, cosine", s.Schedule)
	bad(s.Warmup >= 0 && s.Warmup < 1, "warmup: %g, a share in [0, 1) is needed", s.Warmup)
	bad(s.TauWarmup >= 0 && s.TauWarmup <= 1, "tau_warmup: %g, a share in [0, 1] is needed", s.TauWarmup)
	bad(s.Clip > 0, "clip: %g, a positive norm is needed", s.Clip)
	bad(slices.Contains(initialisers, s.Init), "init: %q, known are %s", s.Init, strings.Join(initialisers, ", "))
	bad(s.Workers > 0, "workers: %d, at least 1 is needed", s.Workers)
	bad(s.Group >= 0, "group: %d is negative", s.Group)
	_, err := newHead(s.Head, headShape{width: 1, experts: 1, advice: 1, outputs: 1})
	if err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Spec has the settings of one model of a [Train] call.
type Spec struct {
	Name         string  `json:"name,omitempty"` // for error messages
	Seed         uint64  `json:"seed"`           // initialisation, order and dropout
	Lambda       float64 `json:"lambda"`         // multiplier of the advice fees
	LearningRate float64 `json:"learning_rate"`
	WeightDecay  float64 `json:"weight_decay"`   // decoupled (AdamW), on every parameter
	Tau          float64 `json:"tau"`            // comp-sum family, in [0, 3]
	Dropout      float64 `json:"dropout"`        // on hidden layers, in [0, 1)
	Mask         []bool  `json:"mask,omitempty"` // J(K+1), actions that it may choose; nil: all
	Rows         []int32 `json:"-"`              // training rows of the problem; nil: all
}

// CheckTau reports a tau outside [0, 3], the range in which surrogates are trained.
func CheckTau(tau float64) error {
	if tau >= 0 && tau <= 3 {
		return nil
	}
	return fmt.Errorf("tau %g is outside [0, 3]", tau)
}

// check returns the first problem of a spec.
func (s Spec) check(p *Problem) error {
	n, a := p.Len(), p.actions()
	switch {
	case !(s.LearningRate > 0):
		return fmt.Errorf("learning rate %g is not positive", s.LearningRate)
	case !(s.WeightDecay >= 0):
		return fmt.Errorf("weight decay %g is negative", s.WeightDecay)
	case CheckTau(s.Tau) != nil:
		return CheckTau(s.Tau)
	case !(s.Dropout >= 0 && s.Dropout < 1):
		return fmt.Errorf("dropout %g is outside [0, 1)", s.Dropout)
	case !(s.Lambda >= 0):
		return fmt.Errorf("lambda %g is negative", s.Lambda)
	case s.Mask != nil && len(s.Mask) != a:
		return fmt.Errorf("mask has %d entries, there are %d actions", len(s.Mask), a)
	case !s.allowsAny(p):
		return errors.New("no action is allowed")
	case s.Rows != nil && len(s.Rows) == 0:
		return errors.New("no training rows")
	}
	for _, r := range s.Rows {
		if r < 0 || int(r) >= n {
			return fmt.Errorf("training row %d is outside 0..%d", r, n-1)
		}
	}
	return nil
}

// allowed reports whether the model may take action i: it exists and is not masked.
func (s Spec) allowed(p *Problem, i int) bool {
	return (p.Mask == nil || p.Mask[i]) && (s.Mask == nil || s.Mask[i])
}

func (s Spec) allowsAny(p *Problem) bool {
	for i := range p.actions() {
		if s.allowed(p, i) {
			return true
		}
	}
	return false
}
