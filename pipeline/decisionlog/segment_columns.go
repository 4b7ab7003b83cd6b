package decisionlog

import (
	"math"

	"pipe/internal/parquetfile"
)

// row is a record with what the Parquet form states besides: the names of the chosen pair and its probability.
type row struct {
	Record
	policy *PolicyInfo
}

// recordFields are the columns of decisions, in their order.
var recordFields = []field[row]{
	textField("id", false, func(r *row) *string { return &r.ID }),
	timeField("time", func(r *row) *int64 { return &r.Time }),
	textField("request", false, func(r *row) *string { return &r.Request }),
	textField("source", true, func(r *row) *string { return &r.Source }),
	textField("client", true, func(r *row) *string { return &r.Client }),
	textField("user", true, func(r *row) *string { return &r.User }),
	textField("policy", true, func(r *row) *string { return &r.Policy }),
	textField("digest", true, func(r *row) *string { return &r.Digest }),
	boolField("canary", func(r *row) *bool { return &r.Canary }),
	numberField("lambda", func(r *row) *float64 { return &r.Lambda }),
	numbersField("expert_fees", func(r *row) *[]float64 { return &r.ExpertFees }),
	numbersField("advice_fees", func(r *row) *[]float64 { return &r.AdviceFees }),
	boolsField("available", func(r *row) *[]bool { return &r.Available }),
	intField("action", func(r *row) *int { return &r.Action }),
	derived("expert", parquetfile.ByteArray, func(r *row) cell {
		j, _ := r.policy.Actions.Pair(r.Action)
		return cell{text: r.policy.Actions.Experts[j].Name}
	}),
	derived("advice", parquetfile.ByteArray, func(r *row) cell {
		_, k := r.policy.Actions.Pair(r.Action)
		return cell{text: r.policy.Actions.Advice[k].Name}
	}),
	derived("probability", parquetfile.Double, func(r *row) cell { return cell{number: r.Propensity[r.Action]} }),
	intField("greedy", func(r *row) *int { return &r.Greedy }),
	numbersField("propensity", func(r *row) *[]float64 { return &r.Propensity }),
	pairsField("expected_loss", func(r *row) *[]float32 { return &r.ExpectedLoss }),
	pairsField("expected_cost", func(r *row) *[]float32 { return &r.ExpectedCost }),
	boolField("guarded", func(r *row) *bool { return &r.Guarded }),
	numberField("keep", func(r *row) *float64 { return &r.Keep }),
	intField("executed", func(r *row) *int { return &r.Executed }),
	attemptField("attempt_action", parquetfile.Int32, func(a *Attempt) cell { return cell{int: int64(a.Action)} }, func(a *Attempt, c cell) { a.Action = int(c.int) }),
	attemptField("attempt_status", parquetfile.Int32, func(a *Attempt) cell { return cell{int: int64(a.Status)} }, func(a *Attempt, c cell) { a.Status = int(c.int) }),
	attemptField("attempt_us", parquetfile.Int64, func(a *Attempt) cell { return cell{int: a.Micros} }, func(a *Attempt, c cell) { a.Micros = c.int }),
	attemptField("attempt_error", parquetfile.ByteArray, func(a *Attempt) cell { return cell{text: cut(a.Error)} }, func(a *Attempt, c cell) { a.Error = c.text }),
	longField("decode_us", func(r *row) *int64 { return &r.Stages.Decode }),
	longField("encode_us", func(r *row) *int64 { return &r.Stages.Encode }),
	longField("decide_us", func(r *row) *int64 { return &r.Stages.Decide }),
	longField("advise_us", func(r *row) *int64 { return &r.Stages.Advise }),
	longField("expert_us", func(r *row) *int64 { return &r.Stages.Expert }),
	longField("first_byte_us", func(r *row) *int64 { return &r.Stages.FirstByte }),
	usageField("tokens_in", func(r *row) *int64 { return &r.Usage.In }),
	usageField("tokens_cached", func(r *row) *int64 { return &r.Usage.Cached }),
	usageField("tokens_out", func(r *row) *int64 { return &r.Usage.Out }),
	textField("model", true, func(r *row) *string { return &r.Model }),
	feeField(),
	textField("price_date", true, func(r *row) *string { return &r.PriceDate }),
	shadowField("shadow_policy", parquetfile.ByteArray, false, func(s *Shadow) cell { return cell{text: s.Policy} }, func(s *Shadow, c cell) { s.Policy = c.text }),
	shadowField("shadow_digest", parquetfile.ByteArray, false, func(s *Shadow) cell { return cell{text: s.Digest} }, func(s *Shadow, c cell) { s.Digest = c.text }),
	shadowField("shadow_action", parquetfile.Int32, false, func(s *Shadow) cell { return cell{int: int64(s.Action)} }, func(s *Shadow, c cell) { s.Action = int(c.int) }),
	shadowField("shadow_cost", parquetfile.Double, true, func(s *Shadow) cell { return numberOrNull(s.ExpectedCost) }, func(s *Shadow, c cell) { s.ExpectedCost = nanForNull(c) }),
	textField("error", true, func(r *row) *string { return &r.Error }),
	textField("features_digest", false, func(r *row) *string { return &r.FeaturesDigest }),
	{name: "features", kind: parquetfile.Float, list: true, wide: func(r *row) *[]float32 { return &r.Features }},
}

// outcomeFields are the columns of outcomes, in their order.
var outcomeFields = []field[Outcome]{
	textField("id", false, func(o *Outcome) *string { return &o.ID }),
	timeField("time", func(o *Outcome) *int64 { return &o.Time }),
	maybeNumber("loss", func(o *Outcome) **float64 { return &o.Loss }),
	maybeNumber("score", func(o *Outcome) **float64 { return &o.Score }),
	{
		name: "correct", kind: parquetfile.Boolean, nullable: true, count: func(o *Outcome) int { return present(o.Correct != nil) },
		get: func(o *Outcome, _ int) cell { return boolCell(*o.Correct) },
		set: func(o *Outcome, _ int, c cell) { v := c.int != 0; o.Correct = &v },
	},
	textField("label", true, func(o *Outcome) *string { return &o.Label }),
	textField("comment", false, func(o *Outcome) *string { return &o.Comment }),
	textField("client", true, func(o *Outcome) *string { return &o.Client }),
}

// present is the count of a value that may be null.
func present(yes bool) int {
	if yes {
		return 1
	}
	return -1
}

func numberOrNull(v float64) cell { return cell{number: v, null: v != v} }

func nanForNull(c cell) float64 {
	if c.null {
		return math.NaN()
	}
	return c.number
}

func timeField[T any](name string, at func(r *T) *int64) field[T] {
	f := longField(name, at)
	f.time = true
	return f
}

// derived is a column for readers of other programs. It follows from the others, and is not read back.
func derived(name string, kind parquetfile.Kind, get func(r *row) cell) field[row] {
	return field[row]{
		name: name, kind: kind, coded: kind == parquetfile.ByteArray,
		get: func(r *row, _ int) cell { return get(r) }, set: func(*row, int, cell) {},
	}
}

func usageField(name string, at func(r *row) *int64) field[row] {
	f := longField(name, at)
	f.nullable = true
	f.count = func(r *row) int { return present(r.Usage.Known) }
	f.set = func(r *row, _ int, c cell) { *at(r), r.Usage.Known = c.int, true }
	return f
}

func feeField() field[row] {
	f := numberField("fee", func(r *row) *float64 { return &r.Fee })
	f.nullable = true
	f.count = func(r *row) int { return present(r.FeeKnown) }
	f.set = func(r *row, _ int, c cell) { r.Fee, r.FeeKnown = c.number, true }
	return f
}

func maybeNumber(name string, at func(o *Outcome) **float64) field[Outcome] {
	return field[Outcome]{
		name: name, kind: parquetfile.Double, nullable: true,
		count: func(o *Outcome) int { return present(*at(o) != nil) },
		get:   func(o *Outcome, _ int) cell { return cell{number: **at(o)} },
		set:   func(o *Outcome, _ int, c cell) { *at(o) = &c.number },
	}
}

func attemptField(name string, kind parquetfile.Kind, get func(*Attempt) cell, set func(*Attempt, cell)) field[row] {
	return partField(name, kind, func(r *row) *[]Attempt { return &r.Attempts }, get, set)
}

func shadowField(name string, kind parquetfile.Kind, elements bool, get func(*Shadow) cell, set func(*Shadow, cell)) field[row] {
	f := partField(name, kind, func(r *row) *[]Shadow { return &r.Shadows }, get, set)
	f.elements = elements
	return f
}
