package costs

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"pipe/internal/finite"
	"pipe/internal/textfile"
)

// Split says what an instance is used for.
type Split uint8

// The splits. Validation rows are used for reports and never for training.
const (
	Train Split = iota
	Val
	Test
)

var splitNames = [...]string{Train: "train", Val: "val", Test: "test"}

// String returns "train", "val" or "test".
func (s Split) String() string {
	if int(s) < len(splitNames) {
		return splitNames[s]
	}
	return fmt.Sprintf("split(%d)", uint8(s))
}

// ParseSplit is the inverse of String.
func ParseSplit(name string) (Split, error) {
	for s, n := range splitNames {
		if n == name {
			return Split(s), nil
		}
	}
	return 0, fmt.Errorf("unknown split %q; known are train, val and test", name)
}

// NamesKey is the key in Tensor.Meta for the names of the features, a JSON
// list. It is absent if the names are not known.
const NamesKey = "pipe.feature_names"

// LengthOf is what the name of a feature begins with that is the number of
// characters in a column of texts, followed by the name of that column.
const LengthOf = "length of "

// The columns of the Parquet form of a tensor.
const (
	colID         = "id"
	colSplit      = "split"
	colGroup      = "group"
	colTime       = "time"
	colFeatures   = "features"
	colLoss       = "loss"
	colFee        = "fee"
	colLabel      = "label"
	colPrediction = "prediction"
	colPropensity = "propensity"
)

// Tensor is a cost tensor: the task loss of every action on every instance,
// with the features a policy sees. N is the number of instances, A =
// Actions.Len().
type Tensor struct {
	Actions     *Actions
	IDs         []string          // N, unique
	Splits      []Split           // N
	Groups      []string          // N, not empty, or nil: rows of one group (user, session, page) belong together
	Times       []int64           // N, microseconds since 1970-01-01 UTC, or nil: when the outcomes were recorded
	Labels      []string          // N, or nil if there are none
	Predictions []string          // N x A, or nil
	Dim         int               // features per instance
	Features    []float32         // N x Dim, finite
	Loss        []float32         // N x A task losses, finite; NaN where the pair is unavailable or the outcome unknown
	Fee         []float32         // N x A measured fees >= 0, or nil; may be NaN where the loss is
	Usage       Usage             // what calls used, as far as it is known
	Propensity  []float64         // N x A, probability with which the system that logged the row executed the pair; NaN: unknown. Or nil
	Facts       []Facts           // what may be seen of the answer of a pair once it was executed, sorted by name; names are unique
	Meta        map[string]string // further metadata of the file; only BlocksKey is part of the digest
}

// HasFees reports whether some measured fee is above 0.
func (t *Tensor) HasFees() bool {
	return slices.ContainsFunc(t.Fee, func(fee float32) bool { return fee > 0 })
}

// Len returns the number of instances.
func (t *Tensor) Len() int { return len(t.IDs) }

// Rows returns the indices of the instances of a split, ascending. It is never
// nil, since nil means all instances elsewhere.
func (t *Tensor) Rows(s Split) []int {
	rows := []int{}
	for n, v := range t.Splits {
		if v == s {
			rows = append(rows, n)
		}
	}
	return rows
}

// Row returns the features of instance n, a view.
func (t *Tensor) Row(n int) []float32 { return t.Features[n*t.Dim : (n+1)*t.Dim : (n+1)*t.Dim] }

// Losses returns the task losses of instance n, a view of A values.
func (t *Tensor) Losses(n int) []float32 {
	a := t.Actions.Len()
	return t.Loss[n*a : (n+1)*a : (n+1)*a]
}

// Subset returns a tensor of the given instances, in the given order. Actions
// and metadata are shared, everything else is copied.
func (t *Tensor) Subset(rows []int) *Tensor {
	a := t.Actions.Len()
	return &Tensor{
		Actions: t.Actions, Dim: t.Dim, Meta: t.Meta,
		IDs:         pick(t.IDs, rows, 1),
		Splits:      pick(t.Splits, rows, 1),
		Groups:      pick(t.Groups, rows, 1),
		Times:       pick(t.Times, rows, 1),
		Labels:      pick(t.Labels, rows, 1),
		Predictions: pick(t.Predictions, rows, a),
		Features:    pick(t.Features, rows, t.Dim),
		Loss:        pick(t.Loss, rows, a),
		Fee:         pick(t.Fee, rows, a),
		Usage:       t.Usage.each(func(values []float32) []float32 { return pick(values, rows, a) }),
		Propensity:  pick(t.Propensity, rows, a),
		Facts:       t.eachFact(func(data []float32) []float32 { return pick(data, rows, a) }),
	}
}

// pick copies rows of the given width; nil stays nil.
func pick[T any](from []T, rows []int, width int) []T {
	if from == nil {
		return nil
	}
	out := make([]T, 0, len(rows)*width)
	for _, n := range rows {
		out = append(out, from[n*width:(n+1)*width]...)
	}
	return out
}

// Validate returns the first problem of the tensor: a *DataError without a
// file, unless the actions are invalid. A nil tensor is a problem too, and so
// is an unknown outcome: a NaN loss of an available pair.
func (t *Tensor) Validate() error { return t.validate(false) }

// ValidatePartial is Validate for callers that can use unknown outcomes.
func (t *Tensor) ValidatePartial() error { return t.validate(true) }

func (t *Tensor) validate(unknown bool) error {
	switch {
	case t == nil:
		return &DataError{Msg: "there is no tensor"}
	case t.Actions == nil:
		return &DataError{Msg: "tensor has no actions"}
	}
	if err := t.Actions.Validate(); err != nil {
		return err
	}
	if err := t.checkShape(); err != nil {
		return err
	}
	if err := t.checkIDs(); err != nil {
		return err
	}
	if err := badText(colGroup, t.Groups); err != nil {
		return err
	}
	for n, s := range t.Splits {
		if s > Test {
			return &DataError{Row: n + 1, Column: "split", Msg: fmt.Sprintf("unknown split number %d", s)}
		}
	}
	if err := checkTimes(t.Times); err != nil {
		return err
	}
	return t.checkValues(unknown)
}

func (t *Tensor) checkShape() error {
	n, a := t.Len(), t.Actions.Len()
	if n == 0 {
		return &DataError{Msg: "there are no rows"}
	}
	if t.Dim <= 0 {
		return &DataError{Column: "features", Msg: fmt.Sprintf("dimension is %d", t.Dim)}
	}
	if d := t.Actions.Features.Dim; d != 0 && d != t.Dim {
		return &DataError{Column: "features", Msg: fmt.Sprintf("rows have %d values, but the actions declare %d", t.Dim, d)}
	}
	type shape struct {
		column    string
		got, want int
		optional  bool
	}
	shapes := []shape{
		{"split", len(t.Splits), n, false},
		{"group", len(t.Groups), n, t.Groups == nil},
		{"time", len(t.Times), n, t.Times == nil},
		{"label", len(t.Labels), n, t.Labels == nil},
		{"prediction", len(t.Predictions), n * a, t.Predictions == nil},
		{"features", len(t.Features), n * t.Dim, false},
		{"loss", len(t.Loss), n * a, false},
		{"fee", len(t.Fee), n * a, t.Fee == nil},
		{colPropensity, len(t.Propensity), n * a, t.Propensity == nil},
	}
	for q, values := range t.Usage {
		shapes = append(shapes, shape{Quantity(q).String(), len(values), n * a, values == nil})
	}
	for _, c := range shapes {
		if c.got != c.want && !c.optional {
			return &DataError{Column: c.column, Msg: fmt.Sprintf("has %d values for %d rows, expected %d", c.got, n, c.want)}
		}
	}
	return nil
}

func (t *Tensor) checkIDs() error {
	if err := badText(colID, t.IDs); err != nil {
		return err
	}
	if n, first := textfile.Repeated(t.IDs); n >= 0 {
		return &DataError{Row: n + 1, Column: "id", Msg: fmt.Sprintf("%q is a duplicate, first in row %d", t.IDs[n], first+1)}
	}
	return nil
}

// badText reports the first value of a column of ids or groups that is empty or
// not UTF-8, a *DataError whose row counts within values.
func badText(column string, values []string) error {
	for n, v := range values {
		switch {
		case v == "":
			return &DataError{Row: n + 1, Column: column, Msg: "is empty"}
		case !utf8.ValidString(v):
			return &DataError{Row: n + 1, Column: column, Err: errNotUTF8(v)}
		}
	}
	return nil
}

func errNotUTF8(text string) error {
	return fmt.Errorf("%s is not valid UTF-8", textfile.Quoted(text))
}

func (t *Tensor) checkValues(unknown bool) error {
	if i := finite.First(t.Features); i >= 0 {
		return cellError("features", i, t.Dim, fmt.Sprintf("is %v", t.Features[i]))
	}
	mask := t.Actions.Mask()
	if err := checkLosses(t.Loss, mask, t.Actions, unknown); err != nil {
		return err
	}
	if err := checkFees(t.Fee, mask, unknown); err != nil {
		return err
	}
	for q, values := range t.Usage {
		if err := checkUsage(Quantity(q), values, len(mask)); err != nil {
			return err
		}
	}
	if err := t.checkFacts(); err != nil {
		return err
	}
	return t.checkCells()
}

// checkLosses returns a *DataError whose row counts within loss. With unknown,
// the loss of an available pair may be NaN.
func checkLosses(loss []float32, mask []bool, a *Actions, unknown bool) error {
	for i, v := range loss {
		available := mask[i%len(mask)]
		switch {
		case available && v != v && unknown:
		case available && v != v:
			return cellError("loss", i, len(mask), fmt.Sprintf("is NaN (%s): %s", a.Name(i%len(mask)), unknownHint))
		case available && !isFinite(v):
			return cellError("loss", i, len(mask), fmt.Sprintf("is %v (%s)", v, a.Name(i%len(mask))))
		case !available && v == v:
			return cellError("loss", i, len(mask), fmt.Sprintf("is %v, but %s is unavailable, so it must be NaN", v, a.Name(i%len(mask))))
		}
	}
	return nil
}

// checkFees returns a *DataError whose row counts within fee. With unknown, the
// fee of an available pair may be NaN, see [Tensor.checkKnownFees].
func checkFees(fee []float32, mask []bool, unknown bool) error {
	for i, v := range fee {
		available := mask[i%len(mask)] && !(unknown && v != v)
		if available && (!isFinite(v) || v < 0) || !available && (v < 0 || math.IsInf(float64(v), 0)) {
			return cellError("fee", i, len(mask), fmt.Sprintf("is %v; measured fees must be finite and not negative", v))
		}
	}
	return nil
}

func isFinite(v float32) bool { return v-v == 0 }
