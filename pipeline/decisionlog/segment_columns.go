package decisionlog

import (
	"math"

	"pipe/internal/parquetfile"
)

// recordFields are the columns of decisions that are read back, in their order.
var recordFields = []field[Record]{
	textField("id", func(r *Record) *string { return &r.ID }),
	longField("time", func(r *Record) *int64 { return &r.Time }),
	textField("request", func(r *Record) *string { return &r.Request }),
	textField("source", func(r *Record) *string { return &r.Source }),
	textField("client", func(r *Record) *string { return &r.Client }),
	textField("user", func(r *Record) *string { return &r.User }),
	textField("policy", func(r *Record) *string { return &r.Policy }),
	textField("digest", func(r *Record) *string { return &r.Digest }),
	boolField("canary", func(r *Record) *bool { return &r.Canary }),
	shareField(),
	numberField("lambda", func(r *Record) *float64 { return &r.Lambda }),
	numbersField("expert_fees", func(r *Record) *[]float64 { return &r.ExpertFees }),
	numbersField("advice_fees", func(r *Record) *[]float64 { return &r.AdviceFees }),
	laterNumbers("pair_fees", func(r *Record) *[]float64 { return &r.PairFees }),
	boolsField("available", func(r *Record) *[]bool { return &r.Available }),
	intField("action", func(r *Record) *int { return &r.Action }),
	intField("greedy", func(r *Record) *int { return &r.Greedy }),
	numbersField("propensity", func(r *Record) *[]float64 { return &r.Propensity }),
	laterNumbers("own_propensity", func(r *Record) *[]float64 { return &r.OwnPropensity }),
	pairsField("expected_loss", func(r *Record) *[]float32 { return &r.ExpectedLoss }),
	pairsField("expected_cost", func(r *Record) *[]float32 { return &r.ExpectedCost }),
	boolField("guarded", func(r *Record) *bool { return &r.Guarded }),
	numberField("keep", func(r *Record) *float64 { return &r.Keep }),
	intField("executed", func(r *Record) *int { return &r.Executed }),
	attemptField("attempt_action", parquetfile.Int32, func(a *Attempt, c cell) { a.Action = int(c.int) }),
	attemptField("attempt_status", parquetfile.Int32, func(a *Attempt, c cell) { a.Status = int(c.int) }),
	attemptField("attempt_us", parquetfile.Int64, func(a *Attempt, c cell) { a.Micros = c.int }),
	attemptField("attempt_error", parquetfile.ByteArray, func(a *Attempt, c cell) { a.Error = c.text }),
	longField("decode_us", func(r *Record) *int64 { return &r.Stages.Decode }),
	longField("encode_us", func(r *Record) *int64 { return &r.Stages.Encode }),
	longField("decide_us", func(r *Record) *int64 { return &r.Stages.Decide }),
	longField("advise_us", func(r *Record) *int64 { return &r.Stages.Advise }),
	longField("expert_us", func(r *Record) *int64 { return &r.Stages.Expert }),
	longField("first_byte_us", func(r *Record) *int64 { return &r.Stages.FirstByte }),
	usageField("tokens_in", func(r *Record) *int64 { return &r.Usage.In }),
	usageField("tokens_cached", func(r *Record) *int64 { return &r.Usage.Cached }),
	usageField("tokens_out", func(r *Record) *int64 { return &r.Usage.Out }),
	textField("model", func(r *Record) *string { return &r.Model }),
	feeField(),
	textField("price_date", func(r *Record) *string { return &r.PriceDate }),
	shadowField("shadow_policy", parquetfile.ByteArray, false, func(s *Shadow, c cell) { s.Policy = c.text }),
	shadowField("shadow_digest", parquetfile.ByteArray, false, func(s *Shadow, c cell) { s.Digest = c.text }),
	shadowField("shadow_action", parquetfile.Int32, false, func(s *Shadow, c cell) { s.Action = int(c.int) }),
	shadowField("shadow_cost", parquetfile.Double, true, func(s *Shadow, c cell) { s.ExpectedCost = nanForNull(c) }),
	textField("error", func(r *Record) *string { return &r.Error }),
	textField("features_digest", func(r *Record) *string { return &r.FeaturesDigest }),
	{name: "features", kind: parquetfile.Float, list: true, wide: func(r *Record) *[]float32 { return &r.Features }},
}

// outcomeFields are the columns of outcomes.
var outcomeFields = []field[Outcome]{
	textField("id", func(o *Outcome) *string { return &o.ID }),
	longField("time", func(o *Outcome) *int64 { return &o.Time }),
	maybeNumber("loss", func(o *Outcome) **float64 { return &o.Loss }),
	maybeNumber("score", func(o *Outcome) **float64 { return &o.Score }),
	{
		name: "correct", kind: parquetfile.Boolean, nullable: true,
		set: func(o *Outcome, _ int, c cell) { v := c.int != 0; o.Correct = &v },
	},
	textField("label", func(o *Outcome) *string { return &o.Label }),
	textField("comment", func(o *Outcome) *string { return &o.Comment }),
	textField("client", func(o *Outcome) *string { return &o.Client }),
	replaceField(),
}

// replaceField is lacking in segments of before outcomes could be replaced.
func replaceField() field[Outcome] {
	f := boolField("replace", func(o *Outcome) *bool { return &o.Replace })
	f.later = true
	return f
}

func nanForNull(c cell) float64 {
	if c.null {
		return math.NaN()
	}
	return c.number
}

func usageField(name string, at func(r *Record) *int64) field[Record] {
	f := longField(name, at)
	f.nullable = true
	f.set = func(r *Record, _ int, c cell) { *at(r), r.Usage.Known = c.int, true }
	return f
}

// laterNumbers is null where a record has no such list, and lacking in segments of before there were such lists.
func laterNumbers(name string, at func(r *Record) *[]float64) field[Record] {
	f := numbersField(name, at)
	f.nullable, f.later = true, true
	return f
}

// shareField is null where the share is not known, and lacking in segments of before it was logged.
func shareField() field[Record] {
	f := numberField("share", func(r *Record) *float64 { return &r.Share })
	f.nullable, f.later = true, true
	f.none = func(r *Record) { r.Share = ShareUnknown }
	return f
}

func feeField() field[Record] {
	return field[Record]{
		name: "fee", kind: parquetfile.Double, nullable: true,
		set: func(r *Record, _ int, c cell) { r.Fee, r.FeeKnown = c.number, true },
	}
}

func maybeNumber(name string, at func(o *Outcome) **float64) field[Outcome] {
	return field[Outcome]{
		name: name, kind: parquetfile.Double, nullable: true, set: func(o *Outcome, _ int, c cell) { *at(o) = &c.number },
	}
}

func attemptField(name string, kind parquetfile.Kind, set func(*Attempt, cell)) field[Record] {
	return partField(name, kind, func(r *Record) *[]Attempt { return &r.Attempts }, set)
}

func shadowField(name string, kind parquetfile.Kind, elements bool, set func(*Shadow, cell)) field[Record] {
	f := partField(name, kind, func(r *Record) *[]Shadow { return &r.Shadows }, set)
	f.elements = elements
	return f
}
