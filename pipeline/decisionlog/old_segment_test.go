package decisionlog

import (
	"errors"
	"fmt"
	"io"
	"math"

	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
)

// oldDecisionRow is a row of the Parquet form of decisions, as the library takes it: by columns of Go types, which is ten times
// as quick as value by value. oldRecordFields reads the same columns back.
type oldDecisionRow struct {
	ID            string     `parquet:"id,plain"`
	Time          int64      `parquet:"time,timestamp(microsecond:utc),plain"`
	Request       string     `parquet:"request,plain"`
	Source        string     `parquet:"source,dict"`
	Client        string     `parquet:"client,dict"`
	User          string     `parquet:"user,dict"`
	Policy        string     `parquet:"policy,dict"`
	Digest        string     `parquet:"digest,dict"`
	Canary        bool       `parquet:"canary"`
	Share         *float64   `parquet:"share,optional,plain"`
	Lambda        float64    `parquet:"lambda,plain"`
	ExpertFees    []float64  `parquet:"expert_fees,list"`
	AdviceFees    []float64  `parquet:"advice_fees,list"`
	PairFees      []float64  `parquet:"pair_fees,optional,list"`
	Available     []bool     `parquet:"available,list"`
	Action        int32      `parquet:"action,plain"`
	Expert        string     `parquet:"expert,dict"`
	Advice        string     `parquet:"advice,dict"`
	Probability   float64    `parquet:"probability,plain"`
	Greedy        int32      `parquet:"greedy,plain"`
	Propensity    []float64  `parquet:"propensity,list"`
	OwnPropensity []float64  `parquet:"own_propensity,optional,list"`
	ExpectedLoss  []*float32 `parquet:"expected_loss,optional,list"`
	ExpectedCost  []*float32 `parquet:"expected_cost,optional,list"`
	Guarded       bool       `parquet:"guarded"`
	Keep          float64    `parquet:"keep,plain"`
	Executed      int32      `parquet:"executed,plain"`
	AttemptAction []int32    `parquet:"attempt_action,list"`
	AttemptStatus []int32    `parquet:"attempt_status,list"`
	AttemptMicros []int64    `parquet:"attempt_us,list"`
	AttemptError  []string   `parquet:"attempt_error,list"`
	Decode        int64      `parquet:"decode_us,plain"`
	Encode        int64      `parquet:"encode_us,plain"`
	Decide        int64      `parquet:"decide_us,plain"`
	Advise        int64      `parquet:"advise_us,plain"`
	ExpertMicros  int64      `parquet:"expert_us,plain"`
	FirstByte     int64      `parquet:"first_byte_us,plain"`
	TokensIn      *int64     `parquet:"tokens_in,optional,plain"`
	TokensCached  *int64     `parquet:"tokens_cached,optional,plain"`
	TokensOut     *int64     `parquet:"tokens_out,optional,plain"`
	Model         string     `parquet:"model,dict"`
	Fee           *float64   `parquet:"fee,optional,plain"`
	PriceDate     string     `parquet:"price_date,dict"`
	ShadowPolicy  []string   `parquet:"shadow_policy,list"`
	ShadowDigest  []string   `parquet:"shadow_digest,list"`
	ShadowAction  []int32    `parquet:"shadow_action,list"`
	ShadowCost    []*float64 `parquet:"shadow_cost,list"`
	Error         string     `parquet:"error,dict"`
	FeatureDigest string     `parquet:"features_digest,plain"`
	Features      []float32  `parquet:"features,list"`
}

// oldRowOf is a record as a row. The row refers to the record's memory.
func oldRowOf(r *Record, p *PolicyInfo) oldDecisionRow {
	j, k := p.Actions.Pair(r.Action)
	out := oldDecisionRow{
		ID: r.ID, Time: r.Time, Request: r.Request, Source: r.Source, Client: r.Client, User: r.User, Policy: r.Policy, Digest: r.Digest,
		Canary: r.Canary, Lambda: r.Lambda, ExpertFees: r.ExpertFees, AdviceFees: r.AdviceFees, PairFees: r.PairFees,
		Available: r.Available, Action: int32(r.Action), Expert: p.Actions.Experts[j].Name, Advice: p.Actions.Advice[k].Name,
		Probability: r.Propensity[r.Action], Greedy: int32(r.Greedy), Propensity: r.Propensity, OwnPropensity: r.OwnPropensity, ExpectedLoss: oldPresent(r.ExpectedLoss), ExpectedCost: oldPresent(r.ExpectedCost),
		Guarded: r.Guarded, Keep: r.Keep, Executed: int32(r.Executed), Decode: r.Stages.Decode, Encode: r.Stages.Encode, Decide: r.Stages.Decide,
		Advise: r.Stages.Advise, ExpertMicros: r.Stages.Expert, FirstByte: r.Stages.FirstByte, Model: r.Model, PriceDate: r.PriceDate,
		Error: r.Error, FeatureDigest: r.FeaturesDigest, Features: r.Features,
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		out.AttemptAction, out.AttemptStatus = append(out.AttemptAction, int32(a.Action)), append(out.AttemptStatus, int32(a.Status))
		out.AttemptMicros, out.AttemptError = append(out.AttemptMicros, a.Micros), append(out.AttemptError, a.Error)
	}
	for i := range r.Shadows {
		s := &r.Shadows[i]
		out.ShadowPolicy, out.ShadowDigest = append(out.ShadowPolicy, s.Policy), append(out.ShadowDigest, s.Digest)
		out.ShadowAction, out.ShadowCost = append(out.ShadowAction, int32(s.Action)), append(out.ShadowCost, oldUnlessNaN(&s.ExpectedCost))
	}
	if r.Usage.Known {
		out.TokensIn, out.TokensCached, out.TokensOut = &r.Usage.In, &r.Usage.Cached, &r.Usage.Out
	}
	if r.Share != ShareUnknown {
		out.Share = &r.Share
	}
	if r.FeeKnown {
		out.Fee = &r.Fee
	}
	return out
}

// oldPresent points to the numbers of a list that are not NaN; nil for nil.
func oldPresent(list []float32) []*float32 {
	if list == nil {
		return nil
	}
	out := make([]*float32, len(list))
	for i := range list {
		out[i] = oldUnlessNaN(&list[i])
	}
	return out
}

func oldUnlessNaN[T float32 | float64](v *T) *T {
	if *v != *v {
		return nil
	}
	return v
}

// oldRecordFields are the columns of decisions that are read back, in their order.
var oldRecordFields = []oldField[Record]{
	oldTextField("id", func(r *Record) *string { return &r.ID }),
	oldLongField("time", func(r *Record) *int64 { return &r.Time }),
	oldTextField("request", func(r *Record) *string { return &r.Request }),
	oldTextField("source", func(r *Record) *string { return &r.Source }),
	oldTextField("client", func(r *Record) *string { return &r.Client }),
	oldTextField("user", func(r *Record) *string { return &r.User }),
	oldTextField("policy", func(r *Record) *string { return &r.Policy }),
	oldTextField("digest", func(r *Record) *string { return &r.Digest }),
	oldBoolField("canary", func(r *Record) *bool { return &r.Canary }),
	oldShareField(),
	oldNumberField("lambda", func(r *Record) *float64 { return &r.Lambda }),
	oldNumbersField("expert_fees", func(r *Record) *[]float64 { return &r.ExpertFees }),
	oldNumbersField("advice_fees", func(r *Record) *[]float64 { return &r.AdviceFees }),
	oldLaterNumbers("pair_fees", func(r *Record) *[]float64 { return &r.PairFees }),
	oldBoolsField("available", func(r *Record) *[]bool { return &r.Available }),
	oldIntField("action", func(r *Record) *int { return &r.Action }),
	oldIntField("greedy", func(r *Record) *int { return &r.Greedy }),
	oldNumbersField("propensity", func(r *Record) *[]float64 { return &r.Propensity }),
	oldLaterNumbers("own_propensity", func(r *Record) *[]float64 { return &r.OwnPropensity }),
	oldPairsField("expected_loss", func(r *Record) *[]float32 { return &r.ExpectedLoss }),
	oldPairsField("expected_cost", func(r *Record) *[]float32 { return &r.ExpectedCost }),
	oldBoolField("guarded", func(r *Record) *bool { return &r.Guarded }),
	oldNumberField("keep", func(r *Record) *float64 { return &r.Keep }),
	oldIntField("executed", func(r *Record) *int { return &r.Executed }),
	oldAttemptField("attempt_action", parquetfile.Int32, func(a *Attempt, c oldCell) { a.Action = int(c.int) }),
	oldAttemptField("attempt_status", parquetfile.Int32, func(a *Attempt, c oldCell) { a.Status = int(c.int) }),
	oldAttemptField("attempt_us", parquetfile.Int64, func(a *Attempt, c oldCell) { a.Micros = c.int }),
	oldAttemptField("attempt_error", parquetfile.ByteArray, func(a *Attempt, c oldCell) { a.Error = c.text }),
	oldLongField("decode_us", func(r *Record) *int64 { return &r.Stages.Decode }),
	oldLongField("encode_us", func(r *Record) *int64 { return &r.Stages.Encode }),
	oldLongField("decide_us", func(r *Record) *int64 { return &r.Stages.Decide }),
	oldLongField("advise_us", func(r *Record) *int64 { return &r.Stages.Advise }),
	oldLongField("expert_us", func(r *Record) *int64 { return &r.Stages.Expert }),
	oldLongField("first_byte_us", func(r *Record) *int64 { return &r.Stages.FirstByte }),
	oldUsageField("tokens_in", func(r *Record) *int64 { return &r.Usage.In }),
	oldUsageField("tokens_cached", func(r *Record) *int64 { return &r.Usage.Cached }),
	oldUsageField("tokens_out", func(r *Record) *int64 { return &r.Usage.Out }),
	oldTextField("model", func(r *Record) *string { return &r.Model }),
	oldFeeField(),
	oldTextField("price_date", func(r *Record) *string { return &r.PriceDate }),
	oldShadowField("shadow_policy", parquetfile.ByteArray, false, func(s *Shadow, c oldCell) { s.Policy = c.text }),
	oldShadowField("shadow_digest", parquetfile.ByteArray, false, func(s *Shadow, c oldCell) { s.Digest = c.text }),
	oldShadowField("shadow_action", parquetfile.Int32, false, func(s *Shadow, c oldCell) { s.Action = int(c.int) }),
	oldShadowField("shadow_cost", parquetfile.Double, true, func(s *Shadow, c oldCell) { s.ExpectedCost = oldNanForNull(c) }),
	oldTextField("error", func(r *Record) *string { return &r.Error }),
	oldTextField("features_digest", func(r *Record) *string { return &r.FeaturesDigest }),
	{name: "features", kind: parquetfile.Float, list: true, wide: func(r *Record) *[]float32 { return &r.Features }},
}

// oldOutcomeFields are the columns of outcomes.
var oldOutcomeFields = []oldField[Outcome]{
	oldTextField("id", func(o *Outcome) *string { return &o.ID }),
	oldLongField("time", func(o *Outcome) *int64 { return &o.Time }),
	oldMaybeNumber("loss", func(o *Outcome) **float64 { return &o.Loss }),
	oldMaybeNumber("score", func(o *Outcome) **float64 { return &o.Score }),
	{
		name: "correct", kind: parquetfile.Boolean, nullable: true,
		set: func(o *Outcome, _ int, c oldCell) { v := c.int != 0; o.Correct = &v },
	},
	oldTextField("label", func(o *Outcome) *string { return &o.Label }),
	oldTextField("comment", func(o *Outcome) *string { return &o.Comment }),
	oldTextField("client", func(o *Outcome) *string { return &o.Client }),
	oldReplaceField(),
}

// oldReplaceField is lacking in segments of before outcomes could be replaced.
func oldReplaceField() oldField[Outcome] {
	f := oldBoolField("replace", func(o *Outcome) *bool { return &o.Replace })
	f.later = true
	return f
}

func oldNanForNull(c oldCell) float64 {
	if c.null {
		return math.NaN()
	}
	return c.number
}

func oldUsageField(name string, at func(r *Record) *int64) oldField[Record] {
	f := oldLongField(name, at)
	f.nullable = true
	f.set = func(r *Record, _ int, c oldCell) {
		*at(r), r.Usage.Known = c.int, true
		r.Usage.CachedKnown = r.Usage.CachedKnown || name == "tokens_cached"
	}
	return f
}

// oldLaterNumbers is null where a record has no such list, and lacking in segments of before there were such lists.
func oldLaterNumbers(name string, at func(r *Record) *[]float64) oldField[Record] {
	f := oldNumbersField(name, at)
	f.nullable, f.later = true, true
	return f
}

// oldShareField is null where the share is not known, and lacking in segments of before it was logged.
func oldShareField() oldField[Record] {
	f := oldNumberField("share", func(r *Record) *float64 { return &r.Share })
	f.nullable, f.later = true, true
	f.none = func(r *Record) { r.Share = ShareUnknown }
	return f
}

func oldFeeField() oldField[Record] {
	return oldField[Record]{
		name: "fee", kind: parquetfile.Double, nullable: true,
		set: func(r *Record, _ int, c oldCell) { r.Fee, r.FeeKnown = c.number, true },
	}
}

func oldMaybeNumber(name string, at func(o *Outcome) **float64) oldField[Outcome] {
	return oldField[Outcome]{
		name: name, kind: parquetfile.Double, nullable: true, set: func(o *Outcome, _ int, c oldCell) { *at(o) = &c.number },
	}
}

func oldAttemptField(name string, kind parquetfile.Kind, set func(*Attempt, oldCell)) oldField[Record] {
	return oldPartField(name, kind, func(r *Record) *[]Attempt { return &r.Attempts }, set)
}

func oldShadowField(name string, kind parquetfile.Kind, elements bool, set func(*Shadow, oldCell)) oldField[Record] {
	f := oldPartField(name, kind, func(r *Record) *[]Shadow { return &r.Shadows }, set)
	f.elements = elements
	return f
}

// oldCell is one value of a column: a text, an integer, a truth value (0, 1) or a number.
type oldCell struct {
	text   string
	int    int64
	number float64
	null   bool
}

// oldField is a column of the Parquet form of rows of type T: how its values are put into a row.
type oldField[T any] struct {
	name string
	kind parquetfile.Kind
	list bool
	// nullable columns may have no value, or no list; elements that are nullable may have none inside a list.
	nullable, elements bool
	// later columns are lacking in the files of earlier versions.
	later bool
	// none, if there is one, sets what a row has without a value.
	none func(r *T)

	size func(r *T, n int) // makes room for a list
	set  func(r *T, i int, c oldCell)
	wide func(r *T) *[]float32 // instead of both, for long lists of floats
}

// levels are the definition levels of a field: of an empty list, and of a value.
func (f *oldField[T]) levels() (empty, value int) {
	if f.nullable {
		empty++
	}
	value = empty
	if f.list {
		value++
	}
	if f.elements {
		value++
	}
	return empty, value
}

// The constructors of fields of one value.

func oldTextField[T any](name string, at func(r *T) *string) oldField[T] {
	return oldField[T]{
		name: name, kind: parquetfile.ByteArray,
		set: func(r *T, _ int, c oldCell) { *at(r) = c.text },
	}
}

func oldIntField[T any](name string, at func(r *T) *int) oldField[T] {
	return oldField[T]{
		name: name, kind: parquetfile.Int32,
		set: func(r *T, _ int, c oldCell) { *at(r) = int(c.int) },
	}
}

func oldLongField[T any](name string, at func(r *T) *int64) oldField[T] {
	return oldField[T]{
		name: name, kind: parquetfile.Int64,
		set: func(r *T, _ int, c oldCell) { *at(r) = c.int },
	}
}

func oldBoolField[T any](name string, at func(r *T) *bool) oldField[T] {
	return oldField[T]{
		name: name, kind: parquetfile.Boolean,
		set: func(r *T, _ int, c oldCell) { *at(r) = c.int != 0 },
	}
}

func oldNumberField[T any](name string, at func(r *T) *float64) oldField[T] {
	return oldField[T]{
		name: name, kind: parquetfile.Double,
		set: func(r *T, _ int, c oldCell) { *at(r) = c.number },
	}
}

// The constructors of lists.

func oldNumbersField[T any](name string, at func(r *T) *[]float64) oldField[T] {
	return oldField[T]{
		name: name, kind: parquetfile.Double, list: true,
		size: func(r *T, n int) { *at(r) = make([]float64, n) },
		set:  func(r *T, i int, c oldCell) { (*at(r))[i] = c.number },
	}
}

func oldBoolsField[T any](name string, at func(r *T) *[]bool) oldField[T] {
	return oldField[T]{
		name: name, kind: parquetfile.Boolean, list: true,
		size: func(r *T, n int) { *at(r) = make([]bool, n) },
		set:  func(r *T, i int, c oldCell) { (*at(r))[i] = c.int != 0 },
	}
}

// oldPairsField is a list with a number per pair: null for nil, and null elements for NaN.
func oldPairsField[T any](name string, at func(r *T) *[]float32) oldField[T] {
	return oldField[T]{
		name: name, kind: parquetfile.Float, list: true, nullable: true, elements: true,
		size: func(r *T, n int) { *at(r) = make([]float32, n) },
		set: func(r *T, i int, c oldCell) {
			if c.null {
				c.number = math.NaN()
			}
			(*at(r))[i] = float32(c.number)
		},
	}
}

// oldPartField is one part of the elements of a list of structures, which the Parquet form has as lists side by side.
func oldPartField[T, E any](name string, kind parquetfile.Kind, at func(r *T) *[]E, set func(e *E, c oldCell)) oldField[T] {
	return oldField[T]{
		name: name, kind: kind, list: true,
		size: func(r *T, n int) {
			if n != len(*at(r)) {
				*at(r) = make([]E, n)
			}
		},
		set: func(r *T, i int, c oldCell) { set(&(*at(r))[i], c) },
	}
}

// oldReadGroup reads a row group.
func oldReadGroup[T any](f *parquetfile.File, group int, fields []oldField[T]) ([]T, error) {
	n := f.GroupRows(group)
	if n > maxGroupRows {
		return nil, &dataerror.Error{Msg: fmt.Sprintf("row group %d has %d rows; those of a log have at most %d", group, n, maxGroupRows)}
	}
	rows := make([]T, n)
	for i := range fields {
		if err := fields[i].read(f, group, rows); err != nil {
			return nil, parquetfile.InColumn(fields[i].name, oldInColumn(fields[i].name, err))
		}
	}
	return rows, nil
}

func oldInColumn(name string, err error) error {
	var data *dataerror.Error
	if errors.As(err, &data) && data.Column == "" {
		data.Column = name
	}
	return err
}

// leaf finds the column of the values and checks its form.
func (f *oldField[T]) leaf(file *parquetfile.File) (*parquetfile.Column, error) {
	top := file.Root.Child(f.name)
	if top == nil {
		return nil, &dataerror.Error{Msg: "is missing"}
	}
	c := top
	for !c.Leaf() {
		if len(c.Children) != 1 {
			return nil, &dataerror.Error{Msg: fmt.Sprintf("is a group of %d columns", len(c.Children))}
		}
		c = c.Children[0]
	}
	_, value := f.levels()
	rep := 0
	if f.list {
		rep = 1
	}
	if c.Kind != f.kind || c.MaxDef != value || c.MaxRep != rep {
		return nil, &dataerror.Error{Msg: fmt.Sprintf("has values of type %s with levels %d and %d; a log has %s, %d, %d", c.Kind, c.MaxRep, c.MaxDef, f.kind, rep, value)}
	}
	return c, nil
}

// read reads the column of a row group into the rows.
func (f *oldField[T]) read(file *parquetfile.File, group int, rows []T) error {
	if f.none != nil {
		for i := range rows {
			f.none(&rows[i])
		}
	}
	if f.later && file.Root.Child(f.name) == nil {
		return nil
	}
	c, err := f.leaf(file)
	if err != nil {
		return err
	}
	pages, err := file.Pages(group, c)
	if err != nil {
		return err
	}
	in := oldFiller[T]{field: f, rows: rows, row: -1}
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return in.end()
		}
		if err != nil {
			return err
		}
		if err := in.page(page); err != nil {
			return err
		}
	}
}

// oldFiller puts the values of a column into rows. The cells of a row are collected until the next row starts.
type oldFiller[T any] struct {
	field *oldField[T]
	rows  []T
	row   int
	cells []oldCell
	wide  []float32
	null  bool
}

func (in *oldFiller[T]) page(p *parquetfile.Page) error {
	empty, value := in.field.levels()
	next := 0
	for i := range p.Len {
		if p.Rep == nil || p.Rep[i] == 0 {
			in.finish()
			if in.row++; in.row >= len(in.rows) {
				return &dataerror.Error{Msg: fmt.Sprintf("has more rows than the %d of its group", len(in.rows))}
			}
		} else if in.row < 0 {
			return &dataerror.Error{Msg: "starts inside a row"}
		}
		def := value
		if p.Def != nil {
			def = int(p.Def[i])
		}
		switch {
		case def == value && in.field.wide != nil:
			in.wide = append(in.wide, p.Floats[next])
			next++
		case def == value:
			in.cells = append(in.cells, in.cell(p, next))
			next++
		case in.field.elements && def == value-1:
			in.cells = append(in.cells, oldCell{null: true})
		case def < empty || !in.field.list:
			in.null = true
		}
	}
	return nil
}

func (in *oldFiller[T]) cell(p *parquetfile.Page, i int) oldCell {
	switch in.field.kind {
	case parquetfile.ByteArray:
		return oldCell{text: p.Text(i)}
	case parquetfile.Float:
		return oldCell{number: float64(p.Floats[i])}
	case parquetfile.Double:
		return oldCell{number: p.Doubles[i]}
	}
	return oldCell{int: p.Ints[i]}
}

// finish puts the cells of the current row into it.
func (in *oldFiller[T]) finish() {
	if in.row >= 0 {
		r, f := &in.rows[in.row], in.field
		switch {
		case f.wide != nil && len(in.wide) > 0:
			*f.wide(r) = append([]float32(nil), in.wide...)
		case f.wide != nil || in.null:
		default:
			if f.list {
				f.size(r, len(in.cells))
			}
			for i, c := range in.cells {
				f.set(r, i, c)
			}
		}
	}
	in.cells, in.wide, in.null = in.cells[:0], in.wide[:0], false
}

func (in *oldFiller[T]) end() error {
	in.finish()
	if in.row+1 != len(in.rows) {
		return &dataerror.Error{Msg: fmt.Sprintf("has %d rows, its group %d", in.row+1, len(in.rows))}
	}
	return nil
}
