package cascade

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/onnx"
)

// Versions of the cascade file: the first that has what a file has, so that earlier releases read files without the rest.
const (
	formatFixed     = 1 // fixed prices
	formatAnyPrice  = 2
	formatGuarantee = 3
	newestFormat    = formatGuarantee
)

const keyPrefix = "pipe."

// Keys of the metadata, without the prefix "pipe.", besides those of package policy.
const (
	formatKey  = "format"
	kindKey    = "kind"
	actionsKey = "actions"
	lambdaKey  = "lambda"
	dimKey     = "dim"
	factsKey   = "facts"
	stagesKey  = "stages"
	statesKey  = "states"

	// GuardKey is the key of Policy.Info for the [Guard] in JSON.
	GuardKey = "guard"
	// NamesKey is the key of Policy.Info for the names of the features, a JSON list.
	NamesKey = "feature_names"
	// LimitsKey is the key of Policy.Info for the names of the pairs that are executed only as the first one, a JSON list: the number of
	// states was limited.
	LimitsKey = "first_only"
)

// reserved are the keys that only Export writes.
var reserved = map[string]bool{
	formatKey: true, kindKey: true, actionsKey: true, lambdaKey: true, dimKey: true, factsKey: true, stagesKey: true, statesKey: true,
	policy.PricesKey: true, policy.RiskKey: true,
}

// Info is the metadata of a cascade file.
type Info struct {
	Format  int            // version of the file
	Actions *costs.Actions // names and fees that it was trained with
	Dim     int            // width of the features
	Facts   []costs.Fact   // what is seen of an answer, F of them
	Stages  int            // pairs that are executed on a row, at most
	Lambda  float64        // multiplier of the advice fees that it was trained for
	// Prices are those that an any-price cascade was compared for, whose fees are inputs; nil: they are those of Actions at Lambda.
	Prices *policy.PriceRange
	States [][]int // pairs that were executed in every state that has a policy, ascending; the first is empty
	Guard  *Guard  // nil if not in the file
	// Guarantee is what the output accepted promises; nil: the file does not have it.
	Guarantee *policy.Guarantee
	Names     []string          // names of the features; nil if not in the file
	Info      map[string]string // everything else, as Policy.Info
}

// OneShot reports whether the file accepts every first answer.
func (i *Info) OneShot() bool { return len(i.States) == 1 }

// Columns is the number of values that are seen of a row, A*F.
func (i *Info) Columns() int { return i.Actions.Len() * len(i.Facts) }

// once is a policy that decides once, with the actions and the prices of the cascade.
func (i *Info) once() *policy.Info {
	return &policy.Info{Actions: i.Actions, Dim: i.Dim, Lambda: i.Lambda, Prices: i.Prices, Guarantee: i.Guarantee}
}

// Base are the prices of the file.
func (i *Info) Base() *policy.Prices { return i.once().Base() }

// Price applies a change to the prices of the file, see policy.Info.Price. A cascade has no prices of usage: what was measured of fees
// is part of its losses.
func (i *Info) Price(c policy.PriceChange) (*policy.Prices, error) { return i.once().Price(c) }

// PriceAt are prices with the fees of a, see policy.Info.PriceAt.
func (i *Info) PriceAt(a *costs.Actions, lambda float64) *policy.Prices {
	return i.once().PriceAt(a, lambda, nil)
}

// CheckPrices reports why the cascade cannot decide at prices, see policy.Info.CheckPrices.
func (i *Info) CheckPrices(p *policy.Prices) error { return i.once().CheckPrices(p) }

// ErrNotCascade is wrapped by the error for an ONNX model that is not a cascade.
var ErrNotCascade = errors.New("not a cascade")

// Read reads a cascade file and its metadata. The error names the first reason why the file is not a usable cascade: it is
// not ONNX, it is another model ([ErrNotCascade]), its format is newer, or its inputs and outputs differ from the metadata.
func Read(path string) (*onnx.Model, *Info, error) {
	m, err := onnx.ReadFile(path)
	var info *Info
	if err == nil {
		info, err = Parse(m)
	}
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read cascade %q: %w", path, err)
	}
	return m, info, nil
}

// Parse is [Read] for a model in memory.
func Parse(m *onnx.Model) (*Info, error) {
	meta := m.Metadata()
	if kind := meta[keyPrefix+kindKey]; kind != Kind {
		return nil, fmt.Errorf("%w: %skind in the metadata of the file is %q", ErrNotCascade, keyPrefix, kind)
	}
	info, err := parseInfo(meta)
	if err != nil {
		return nil, err
	}
	return info, errors.Join(
		sameIO("input", m.Inputs(), info.inputs()), sameIO("output", m.Outputs(), info.outputs()))
}

func parseInfo(meta map[string]string) (*Info, error) {
	r := policy.Metadata{Values: meta}
	i := &Info{Format: r.Integer(formatKey, 1, math.MaxInt32)}
	if r.Err() == nil && i.Format > newestFormat {
		return nil, fmt.Errorf("cascade format %d is newer than %d, the newest this version reads", i.Format, newestFormat)
	}
	i.Dim, i.Stages, i.Lambda = r.Integer(dimKey, 1, math.MaxInt32), r.Integer(stagesKey, 1, math.MaxInt32), r.Number(lambdaKey)
	i.Actions = r.Actions()
	r.JSON(factsKey, &i.Facts)
	r.JSON(statesKey, &i.States)
	if r.Has(GuardKey) {
		i.Guard = new(Guard)
		r.JSON(GuardKey, i.Guard)
	}
	if r.Has(NamesKey) {
		r.JSON(NamesKey, &i.Names)
	}
	if r.Has(policy.PricesKey) {
		i.Prices = new(policy.PriceRange)
		r.JSON(policy.PricesKey, i.Prices)
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	var err error
	if i.Guarantee, err = policy.ReadGuarantee(meta, i.Actions); err != nil {
		return nil, err
	}
	i.Info = make(map[string]string)
	for key, value := range meta {
		if k, ours := strings.CutPrefix(key, keyPrefix); ours && !reserved[k] {
			i.Info[k] = value
		}
	}
	return i, i.agrees()
}

// agrees reports contradictions within the metadata.
func (i *Info) agrees() error {
	switch d := i.Actions.Features.Dim; {
	case d != 0 && d != i.Dim:
		return fmt.Errorf("metadata %s%s is %d, its actions say %d features", keyPrefix, dimKey, i.Dim, d)
	case i.Names != nil && len(i.Names) != i.Dim:
		return fmt.Errorf("metadata %s%s has %d names for %d features", keyPrefix, NamesKey, len(i.Names), i.Dim)
	case len(i.States) == 0 || len(i.States[0]) > 0:
		return fmt.Errorf("metadata %s%s does not begin with the empty state", keyPrefix, statesKey)
	}
	if i.Prices != nil {
		if err := i.Prices.Check(); err != nil {
			return fmt.Errorf("metadata %s%s: %w", keyPrefix, policy.PricesKey, err)
		}
	}
	if err := checkFacts(i.Facts); err != nil {
		return fmt.Errorf("metadata %s%s: %w", keyPrefix, factsKey, err)
	}
	return checkStates(i.States, i.Stages, i.Actions)
}

// checkFacts reports facts that no table can have.
func checkFacts(facts []costs.Fact) error {
	if len(facts) == 0 {
		return errors.New("nothing is seen of an answer")
	}
	for n, f := range facts {
		if err := f.Validate(); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if slices.ContainsFunc(facts[:n], func(other costs.Fact) bool { return other.Name == f.Name }) {
			return fmt.Errorf("%s is there twice", f.Name)
		}
	}
	return nil
}

// checkStates reports more stages than there are pairs, and sets of pairs that are not ascending, that are there twice, or that no row
// can come to.
func checkStates(states [][]int, stages int, a *costs.Actions) error {
	mask := a.Mask()
	if pairs := a.Len() - len(a.Unavailable); stages > pairs {
		return fmt.Errorf("%d stages for %d pairs that exist", stages, pairs)
	}
	seen := make(map[string]bool, len(states))
	for _, executed := range states {
		name := fmt.Sprint(executed)
		if seen[name] || len(executed) > stages {
			return fmt.Errorf("state %s is there twice, or has more than %d pairs", name, stages)
		}
		seen[name] = true
		for n, i := range executed {
			if i < 0 || i >= len(mask) || !mask[i] || n > 0 && i <= executed[n-1] {
				return fmt.Errorf("state %s is not a list of ascending pairs that exist", name)
			}
		}
	}
	return nil
}

// inputs are those of the contract. The first axis of each is free.
func (i *Info) inputs() []onnx.IO {
	return append([]onnx.IO{
		matrix(FeaturesInput, onnx.Float32, i.Dim), matrix(ObservedInput, onnx.Float32, i.Columns()),
		matrix(ExecutedInput, onnx.Bool, i.Actions.Len()),
	}, i.once().PriceInputs()...)
}

// outputs are those of the contract.
func (i *Info) outputs() []onnx.IO {
	out := []onnx.IO{
		vector(ActionOutput, onnx.Int64), vector(AcceptOutput, onnx.Bool), vector(LossOutput, onnx.Float32),
		vector(RemainingOutput, onnx.Float32), matrix(CostOutput, onnx.Float32, i.Actions.Len()),
	}
	if i.Guarantee != nil {
		out = append(out, vector(AcceptedOutput, onnx.Bool))
	}
	return out
}

func vector(name string, t onnx.DType) onnx.IO {
	return onnx.IO{Name: name, DType: t, Shape: onnx.Shape{onnx.Sym("batch")}}
}

func matrix(name string, t onnx.DType, width int) onnx.IO {
	return onnx.IO{Name: name, DType: t, Shape: onnx.Shape{onnx.Sym("batch"), onnx.Fix(int64(width))}}
}

// sameIO compares what a model has with the contract.
func sameIO(kind string, have, want []onnx.IO) error {
	byName := make(map[string]onnx.IO)
	for _, io := range have {
		byName[io.Name] = io
	}
	for _, w := range want {
		io, ok := byName[w.Name]
		if !ok || len(have) != len(want) {
			return fmt.Errorf("the %ss are %q, but a cascade has %q", kind, slices.Sorted(maps.Keys(byName)), w.Name)
		}
		if io.DType != w.DType || len(io.Shape) != len(w.Shape) || len(w.Shape) > 1 && io.Shape[1] != w.Shape[1] {
			return fmt.Errorf("%s %q is %v %v, not %v %v, as the metadata says", kind, io.Name, io.DType, io.Shape, w.DType, w.Shape)
		}
	}
	return nil
}
