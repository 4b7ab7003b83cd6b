package decisionlog

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pipe/costs"
	"pipe/internal/finite"
)

// Limits on one record.
const (
	maxID       = 128     // bytes
	maxText     = 1 << 10 // bytes of a name
	maxLongText = 1 << 12 // bytes of an error or a comment; the rest is cut off
	maxDim      = 1 << 16
	maxAttempts = 64
	maxStages   = 64
)

// MaxShadows is the most shadows of one record.
const MaxShadows = 64

// sumTolerance is how far the sum of the propensities may be from 1: far more than the rounding of sums, and far less
// than any probability that exploration gives.
const sumTolerance = 1e-9

// RecordError says what contradicts itself in a record or an outcome.
type RecordError struct {
	ID    string
	Field string
	Msg   string
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("decision %q: %s %s", e.ID, e.Field, e.Msg)
}

// Check reports the first thing that is wrong with a record of the policy.
func (r *Record) Check(p *PolicyInfo) error {
	field, msg := r.wrong(p)
	if field == "" {
		return nil
	}
	return &RecordError{ID: r.ID, Field: field, Msg: msg}
}

func (r *Record) wrong(p *PolicyInfo) (field, msg string) {
	if field, msg = r.wrongText(); field != "" {
		return field, msg
	}
	a, j, k := p.Actions.Len(), len(p.Actions.Experts), len(p.Actions.Advice)
	for _, list := range []struct {
		name       string
		have, want int
	}{
		{"expert_fees", len(r.ExpertFees), j},
		{"advice_fees", len(r.AdviceFees), k},
		{"available", len(r.Available), a},
		{"propensity", len(r.Propensity), a},
	} {
		if list.have != list.want {
			return list.name, fmt.Sprintf("has %d values; the policy needs %d", list.have, list.want)
		}
	}
	if r.PairFees != nil && len(r.PairFees) != a {
		return "pair_fees", fmt.Sprintf("has %d values; the policy needs %d, or none", len(r.PairFees), a)
	}
	if n := int(costs.Quantities) * j; r.UsagePrices != nil && len(r.UsagePrices) != n {
		return "usage_prices", fmt.Sprintf("has %d values; the policy needs %d, or none", len(r.UsagePrices), n)
	}
	if bad := slices.ContainsFunc(r.TokenParts, func(n float64) bool { return !(n >= 0 && n <= mostTokens && n == math.Trunc(n)) }); r.TokenParts != nil && (len(r.TokenParts) != tokenParts || bad) {
		return "token_parts", fmt.Sprintf("is no list of %d numbers of tokens", tokenParts)
	}
	if bad := slices.ContainsFunc(r.BudgetPrices, func(price float64) bool { return !(price >= 0) || math.IsInf(price, 0) }); bad || len(r.BudgetPrices) > maxBudgets {
		return "budget_prices", fmt.Sprintf("are not at most %d finite numbers of at least 0", maxBudgets)
	}
	for _, list := range [...][]float64{r.ExpertFees, r.AdviceFees, r.PairFees, r.UsagePrices, {r.Lambda}} {
		for _, v := range list {
			if v != v || math.IsInf(v, 0) {
				return "fees", "or lambda are not finite"
			}
		}
	}
	if n := len(r.OwnPropensity); r.OwnPropensity != nil && (n != a || !(r.Share > 0)) {
		return "own_propensity", fmt.Sprintf("has %d values with a share of %v; the policy needs %d and a share, or none", n, r.Share, a)
	}
	if field, msg = r.wrongChoice(a); field != "" {
		return field, msg
	}
	return r.wrongNumbers(p, a)
}

// maxBudgets is the most budgets of one record.
const maxBudgets = 4096

// Limits of token_parts.
const (
	tokenParts = 6       // values
	mostTokens = 1 << 53 // of each
)

func (r *Record) wrongText() (field, msg string) {
	if !goodID(r.ID) {
		return "id", fmt.Sprintf("needs 1 to %d bytes of printable text", maxID)
	}
	for _, t := range [...]struct{ name, text string }{
		{"request", r.Request},
		{"source", r.Source},
		{"client", r.Client},
		{"user", r.User},
		{"policy", r.Policy},
		{"features_digest", r.FeaturesDigest},
		{"model", r.Model},
		{"price_date", r.PriceDate},
		{"session", r.Session},
		{"kept", r.Kept},
		{"masked", r.Masked},
	} {
		if len(t.text) > maxText {
			return t.name, fmt.Sprintf("has %d bytes; at most %d are logged", len(t.text), maxText)
		}
	}
	return "", ""
}

func goodID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	plain := true
	for i := range len(id) {
		plain = plain && id[i] >= ' ' && id[i] < 0x7f
	}
	if plain {
		return true
	}
	if !utf8.ValidString(id) {
		return false
	}
	return strings.IndexFunc(id, func(c rune) bool { return !unicode.IsPrint(c) }) < 0
}

// wrongChoice checks the pairs and their probabilities.
func (r *Record) wrongChoice(a int) (field, msg string) {
	if r.Action < 0 || r.Action >= a {
		return "action", fmt.Sprintf("is %d of %d pairs", r.Action, a)
	}
	if msg := r.wrongPropensity(r.Propensity); msg != "" {
		return "propensity", msg
	}
	if msg := r.wrongPropensity(r.Own()); msg != "" {
		return "own_propensity", msg
	}
	switch {
	case !(r.Share >= 0 && r.Share <= 1) && r.Share != ShareUnknown:
		return "share", fmt.Sprintf("is %v; it is from 0 to 1", r.Share)
	case r.Greedy < 0 || r.Greedy >= a || !r.Available[r.Greedy]:
		return "greedy", fmt.Sprintf("is %d, which is not an available pair", r.Greedy)
	case r.Executed < -1 || r.Executed >= a:
		return "executed", fmt.Sprintf("is %d of %d pairs", r.Executed, a)
	case !(r.Keep > 0 && r.Keep <= 1):
		return "keep", fmt.Sprintf("is %v; it is a probability above 0", r.Keep)
	}
	return "", ""
}

// wrongPropensity says what is wrong with the probabilities of the pairs.
func (r *Record) wrongPropensity(p []float64) string {
	sum := 0.0
	for i, v := range p {
		switch {
		case !(v >= 0 && v <= 1):
			return fmt.Sprintf("of pair %d is %v", i, v)
		case v > 0 && !r.Available[i]:
			return fmt.Sprintf("of pair %d is %v, but the pair is not available", i, v)
		}
		sum += v
	}
	switch {
	case math.Abs(sum-1) > sumTolerance:
		return fmt.Sprintf("sums to %v instead of 1", sum)
	case p[r.Action] == 0:
		return fmt.Sprintf("of the chosen pair %d is 0", r.Action)
	}
	return ""
}

func (r *Record) wrongNumbers(p *PolicyInfo, a int) (field, msg string) {
	if n := len(r.Features); n > maxDim || n > 0 && p.Dim > 0 && n != p.Dim {
		return "features", fmt.Sprintf("are %d; the policy needs %d", n, p.Dim)
	}
	if i := finite.First(r.Features); i >= 0 {
		return "features", fmt.Sprintf("%d is %v", i, r.Features[i])
	}
	for _, list := range []struct {
		name   string
		values []float32
	}{{"expected_loss", r.ExpectedLoss}, {"expected_cost", r.ExpectedCost}} {
		if list.values != nil && len(list.values) != a {
			return list.name, fmt.Sprintf("has %d values; the policy needs %d", len(list.values), a)
		}
		for i, v := range list.values {
			if r.Available[i] && (v != v || math.IsInf(float64(v), 0)) {
				return list.name, fmt.Sprintf("of pair %d is %v", i, v)
			}
		}
	}
	if r.Turn < 0 || r.Turn > math.MaxInt32 || r.SwitchCostKnown && !(math.Abs(r.SwitchCost) <= math.MaxFloat64) {
		return "turn", fmt.Sprintf("is %d, with a switch_cost of %v", r.Turn, r.SwitchCost)
	}
	if r.InsteadFeeKnown && !(r.InsteadFee >= 0 && r.InsteadFee <= math.MaxFloat64) || len(r.Instead) > maxText {
		return "instead", fmt.Sprintf("is %.100q, with a fee of %v", r.Instead, r.InsteadFee)
	}
	if r.FeeKnown && !(r.Fee >= 0 && r.Fee <= math.MaxFloat64) {
		return "fee", fmt.Sprintf("is %v", r.Fee)
	}
	if len(r.Attempts) > maxAttempts || len(r.Shadows) > MaxShadows {
		return "attempts", fmt.Sprintf("are %d, and shadows %d; at most %d and %d are logged", len(r.Attempts), len(r.Shadows), maxAttempts, MaxShadows)
	}
	for _, t := range r.Attempts {
		if t.Action < 0 || t.Action >= a {
			return "attempts", fmt.Sprintf("name pair %d of %d", t.Action, a)
		}
	}
	if len(r.Cascade) > maxStages {
		return "stages", fmt.Sprintf("are %d; at most %d are logged", len(r.Cascade), maxStages)
	}
	for i := range r.Cascade {
		if msg := r.Cascade[i].wrong(a); msg != "" {
			return "stages", msg
		}
	}
	if msg := r.wrongStages(a); msg != "" {
		return "stages", msg
	}
	for _, s := range r.Shadows {
		if s.Action < 0 || len(s.Policy) > maxText || len(s.Digest) > maxText {
			return "shadows", "name a negative pair, or have a name that is too long"
		}
	}
	return "", ""
}

// wrongStages says what is wrong with the prices of the decisions of a cascade on a pairs; "" for nothing.
func (r *Record) wrongStages(a int) string {
	for _, n := range [...]int{len(r.StagePairFees), len(r.StageAvailable)} {
		if more := n/a - len(r.Cascade); n%a != 0 || n > 0 && more != 0 && more != 1 {
			return fmt.Sprintf("are %d, with %d values of decisions on %d pairs", len(r.Cascade), n, a)
		}
	}
	if slices.ContainsFunc(r.StagePairFees, func(v float64) bool { return v != v || math.IsInf(v, 0) }) {
		return "have a fee of a pair that is not finite"
	}
	return ""
}

// wrong says what is wrong with a stage of a policy with a pairs; "" for nothing.
func (s *CascadeStage) wrong(a int) string {
	switch {
	case s.Action < 0 || s.Action >= a:
		return fmt.Sprintf("name pair %d of %d", s.Action, a)
	case s.Propensity < 0 || s.Propensity > 1:
		return fmt.Sprintf("have a propensity of %v", s.Propensity)
	case len(s.Facts) > maxLongText:
		return fmt.Sprintf("have %d bytes of facts; at most %d are logged", len(s.Facts), maxLongText)
	}
	for _, v := range [...]float64{s.Fee, s.In, s.Cached, s.Out} {
		if v < 0 || math.IsInf(v, 0) {
			return fmt.Sprintf("have a fee or a number of tokens of %v", v)
		}
	}
	return ""
}

// Check reports the first thing that is wrong with an outcome.
func (o *Outcome) Check() error {
	if err := o.checkForm(); err != nil {
		return err
	}
	return o.checkRange(math.MaxFloat32)
}

// checkRange reports a score outside 0 to 1, and a loss beyond a limit. Logs of earlier versions contain such values.
func (o *Outcome) checkRange(maxLoss float64) error {
	switch {
	case o.Score != nil && !(*o.Score >= 0 && *o.Score <= 1):
		return &RecordError{ID: o.ID, Field: "score", Msg: fmt.Sprintf("is %v; it is from 0 to 1", *o.Score)}
	case o.Loss != nil && !(math.Abs(*o.Loss) <= maxLoss):
		return &RecordError{ID: o.ID, Field: "loss", Msg: fmt.Sprintf("is %v; it is from %v to %v", *o.Loss, -maxLoss, maxLoss)}
	}
	return nil
}

// checkForm reports what makes an outcome unreadable.
func (o *Outcome) checkForm() error {
	if !goodID(o.ID) {
		return &RecordError{ID: o.ID, Field: "id", Msg: fmt.Sprintf("needs 1 to %d bytes of printable text", maxID)}
	}
	if o.Loss == nil && o.Score == nil && o.Correct == nil && o.Label == "" && o.Comment == "" {
		return &RecordError{ID: o.ID, Field: "outcome", Msg: "states none of loss, score, correct, label and comment"}
	}
	for name, v := range map[string]*float64{"loss": o.Loss, "score": o.Score} {
		if v != nil && (*v != *v || math.IsInf(*v, 0)) {
			return &RecordError{ID: o.ID, Field: name, Msg: fmt.Sprintf("is %v", *v)}
		}
	}
	if len(o.Label) > maxText || len(o.Client) > maxText {
		return &RecordError{ID: o.ID, Field: "label", Msg: fmt.Sprintf("or client has more than %d bytes", maxText)}
	}
	return nil
}

// cut shortens a text that may be long.
func cut(s string) string { return cutTo(s, maxLongText) }

// cutTo shortens a text to a number of bytes, at the end of a character.
func cutTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for len(s) > 0 {
		if c, n := utf8.DecodeLastRuneInString(s); c != utf8.RuneError || n != 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

// cutMark is at the end of a name that was cut.
const cutMark = "…"

// bound shortens what callers and services send, and marks what was cut, so that a long text never makes a record invalid. Of
// too many calls, the last ones are kept.
func (r *Record) bound() {
	for _, s := range [...]*string{&r.Request, &r.Model} {
		if len(*s) > maxText {
			*s = cutTo(*s, maxText-len(cutMark)) + cutMark
		}
	}
	if n := len(r.Attempts) - maxAttempts; n > 0 {
		last := r.Attempts[n:]
		r.Attempts = append([]Attempt(nil), last...)
		r.Attempts[0].Error = fmt.Sprintf("%s [%d earlier calls are not logged]", cutTo(last[0].Error, maxText), n)
	}
}
