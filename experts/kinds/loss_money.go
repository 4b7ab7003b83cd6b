package kinds

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/textfile"
)

// money is a loss with one price for a false negative and another for a false
// positive.
type money struct {
	positive string
	missed   *price
	alarm    *price
}

type moneySettings struct {
	Positive      string        `json:"positive"`
	FalseNegative priceSettings `json:"false_negative"` // the label is positive, the answer is not
	FalsePositive priceSettings `json:"false_positive"` // the answer is positive, the label is not
}

type priceSettings struct {
	Amount float64  `json:"amount"`
	Column string   `json:"column"`
	Factor *float64 `json:"factor"` // of the column; 1
}

func newMoney(_ context.Context, s *part.Setup, settings map[string]any) (part.TaskLoss, error) {
	var cfg moneySettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if !slices.Contains(s.Labels, cfg.Positive) {
		return nil, fmt.Errorf("positive is %q; the labels are %s", cfg.Positive, textfile.Listed(s.Labels, part.NamesShown))
	}
	missed, err := newPrice(s, "false_negative", cfg.FalseNegative)
	if err != nil {
		return nil, err
	}
	alarm, err := newPrice(s, "false_positive", cfg.FalsePositive)
	return &money{cfg.Positive, missed, alarm}, err
}

// Loss returns the price of a wrong answer and 0 for a right one. If neither
// the label nor the answer is positive, a wrong answer costs nothing.
func (l *money) Loss(in *part.Instance, p part.Prediction) (float32, error) {
	switch {
	case in.Label == "":
		return 0, errors.New("has no label, which the money loss needs")
	case p.Label == in.Label:
		return 0, nil
	case in.Label == l.positive:
		return l.missed.of(in)
	case p.Label == l.positive:
		return l.alarm.of(in)
	}
	return 0, nil
}

// price is amount + factor x a column of the instance, in the column's unit.
type price struct {
	amount, factor float64
	column         string
	read           func(in *part.Instance) (float32, error) // nil: no column
}

func newPrice(s *part.Setup, name string, cfg priceSettings) (*price, error) {
	p := &price{amount: cfg.Amount, factor: 1, column: cfg.Column}
	if cfg.Factor != nil {
		p.factor = *cfg.Factor
	}
	bad := func(v float64) bool { return !(v >= 0) || math.IsInf(v, 0) }
	switch {
	case bad(p.amount) || bad(p.factor):
		return nil, fmt.Errorf("%s: amount is %v and factor is %v; both must be finite and not negative", name, p.amount, p.factor)
	case cfg.Column == "" && cfg.Factor != nil:
		return nil, fmt.Errorf("%s: a factor without a column", name)
	case cfg.Column == "" && p.amount == 0:
		return nil, fmt.Errorf("%s: neither an amount nor a column is given", name)
	case cfg.Column == "":
		return p, nil
	}
	var err error
	if p.read, err = numberOf(s, cfg.Column); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func (p *price) of(in *part.Instance) (float32, error) {
	if p.read == nil {
		return float32(p.amount), nil
	}
	v, err := p.read(in)
	if err != nil {
		return 0, err
	}
	cost := float32(p.amount + p.factor*float64(v))
	if !(v >= 0) || math.IsInf(float64(cost), 0) {
		return 0, &costs.DataError{Row: in.Line, Column: p.column, Msg: fmt.Sprintf("is %v; a price must not be negative", v)}
	}
	return cost, nil
}

// numberOf returns a function that reads a numeric column of the build's
// instances, in the unit of the file; a missing value is NaN.
func numberOf(s *part.Setup, column string) (func(in *part.Instance) (float32, error), error) {
	source, ok := s.Source.(part.EncodedSource)
	if !ok {
		columns := s.Source.Columns()
		at, err := columns.Find(column)
		if err != nil {
			return nil, err
		}
		return func(in *part.Instance) (float32, error) { return columns.Number(in, at[0]) }, nil
	}
	var names []string
	for i, c := range source.Encoder().Columns() {
		if c.Name == column && !c.Categorical && !c.Time {
			return func(in *part.Instance) (float32, error) { return in.Values[i], nil }, nil
		}
		if !c.Categorical && !c.Time {
			names = append(names, c.Name)
		}
	}
	return nil, fmt.Errorf("there is no numeric column %q; known are %s", column, textfile.Listed(names, part.NamesShown))
}
