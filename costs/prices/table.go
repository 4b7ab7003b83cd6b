package prices

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Table is a price file: the prices of models in one currency.
type Table struct {
	Currency string              `yaml:"currency" json:"currency"` // such as USD
	Models   map[string][]Period `yaml:"models" json:"models"`     // after Read, the periods of a model are in order of time
	// Capabilities are what models can take, by name. They are no prices: what tensors and policies record does not have them.
	Capabilities map[string]Capabilities `yaml:"capabilities" json:"capabilities,omitempty"`
}

// Period is what a model costs from a date until its next period begins. A
// price that is nil is not known.
type Period struct {
	From    string   `yaml:"from" json:"from,omitempty"`     // a date, or a time with zone; "": since ever
	In      *float64 `yaml:"in" json:"in,omitempty"`         // money per million input tokens
	Cached  *float64 `yaml:"cached" json:"cached,omitempty"` // of these, tokens that the service had kept
	Out     *float64 `yaml:"out" json:"out,omitempty"`       // money per million output tokens
	Special `yaml:",inline"`
	Call    *float64 `yaml:"call" json:"call,omitempty"`   // money per call
	Above   []Tier   `yaml:"above" json:"above,omitempty"` // of calls with long prompts; after Read, in order of Tokens
	Hours   []Hours  `yaml:"hours" json:"hours,omitempty"` // hours of the day with other prices; nil in what [Table.At] returns
	Batch   *float64 `yaml:"batch" json:"batch,omitempty"` // the part of the prices of tokens that calls of a batch pay
	// CacheTTL is how long a service keeps what it wrote to its cache, such as 5m. "": not known; see [Period.CacheLife].
	CacheTTL string `yaml:"cache_ttl" json:"cache_ttl,omitempty"`

	// Other names of In and Out in files; nil after Read.
	Prompt     *float64 `yaml:"prompt" json:"-"`
	Completion *float64 `yaml:"completion" json:"-"`

	since int64 // From in microseconds since 1970; set by Read
}

// UnmarshalYAML reads the prices of tokens under either of their names.
func (p *Period) UnmarshalYAML(n *yaml.Node) error {
	type plain Period // avoids recursion into this method
	if err := n.Load((*plain)(p), yaml.WithKnownFields()); err != nil {
		return err
	}
	return OneName(&p.In, &p.Out, &p.Prompt, &p.Completion)
}

// mostMoney is the highest price, so that sums do not overflow.
const mostMoney = 1e12

// Read reads a price file, YAML or JSON. A file that is not one is a
// *config.Error with a line per problem.
func Read(ctx context.Context, path storage.Location) (*Table, error) {
	if err := textfile.CheckRegularAt(ctx, path); err != nil {
		return nil, err
	}
	t := &Table{}
	if err := config.Load(ctx, path, t); err != nil {
		return nil, ofOtherForm(ctx, path, err)
	}
	t.order()
	return t, nil
}

// ofOtherForm replaces the problems of a list of LiteLLM, which would be thousands, by what to do.
func ofOtherForm(ctx context.Context, path storage.Location, err error) error {
	var bad *config.Error
	if !errors.As(err, &bad) {
		return err
	}
	f, failed := path.Open(ctx)
	if failed != nil {
		return err
	}
	defer f.Close()
	head, failed := io.ReadAll(io.LimitReader(f, 1<<16))
	if failed != nil || !bytes.Contains(head, []byte("input_cost_per_token")) {
		return err
	}
	return &config.Error{File: bad.File, Problems: []string{"it has prices of one token, as the list of LiteLLM; write the prices of a million tokens for the models that you use, as in " +
		"models: {NAME: [{in: 1.25, out: 10, above: [{tokens: 200000, in: 2.5, out: 15}]}]}"}}
}

// order puts the periods of every model in order of time.
func (t *Table) order() {
	for _, periods := range t.Models {
		for i := range periods {
			periods[i].since = periods[i].start().UnixMicro()
			slices.SortFunc(periods[i].Above, func(a, b Tier) int { return cmp.Compare(a.Tokens, b.Tokens) })
		}
		slices.SortFunc(periods, func(a, b Period) int { return cmp.Compare(a.since, b.since) })
	}
}

// Validate reports every problem of the file.
func (t *Table) Validate() error {
	var p config.Problems
	p.Check(IsCurrency(t.Currency), "currency is %q; it must be a short word, such as USD", t.Currency)
	p.Check(len(t.Models) > 0, "models is empty")
	for _, model := range slices.Sorted(maps.Keys(t.Models)) {
		p.Check(model != "", "models has a model without a name")
		p.Check(len(t.Models[model]) > 0, "models.%s has no prices", model)
		seen := make(map[time.Time]bool)
		for i, period := range t.Models[model] {
			at := fmt.Sprintf("models.%s[%d]", model, i)
			p.Add(config.Under(at, period.validate()))
			p.Check(!seen[period.start()], "%s begins when another period of %s does", at, model)
			seen[period.start()] = true
		}
	}
	for _, model := range slices.Sorted(maps.Keys(t.Capabilities)) {
		p.Add(config.Under("capabilities."+model, t.Capabilities[model].Validate()))
		p.Check(t.Models[model] != nil, "capabilities.%s is of a model without prices", model)
	}
	return p.Err()
}

// IsCurrency reports whether a name is a short word, or a symbol such as €.
func IsCurrency(name string) bool {
	const longest = 16
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Sc, r) {
			return false
		}
	}
	return name != "" && len(name) <= longest
}

// validate reports every problem of a period, each beginning with a key.
func (p Period) validate() error {
	var problems config.Problems
	_, err := parseDate(p.From)
	problems.Check(err == nil, "from is %q; it must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z", p.From)
	known := false
	for _, price := range []struct {
		key   string
		value *float64
	}{{"in", p.In}, {"cached", p.Cached}, {"out", p.Out}, {"call", p.Call}} {
		known = known || price.value != nil
		checkPrice(&problems, price.key, price.value)
	}
	problems.Check(known, "in, cached, out and call are all missing")
	problems.Check(p.Cached == nil || p.In != nil, "cached is set, but in is not")
	problems.Add(p.ValidateSpecial())
	p.validateTiers(&problems)
	p.validateHours(&problems)
	return problems.Err()
}

// checkPrice reports a price that is none; nil is not known.
func checkPrice(problems *config.Problems, key string, value *float64) {
	problems.Check(value == nil || *value >= 0 && *value <= mostMoney, "%s is %v; a price must be 0 to %v", key, orNaN(value), float64(mostMoney))
}

// orNaN is a price as a number.
func orNaN(price *float64) float64 {
	if price == nil {
		return math.NaN()
	}
	return *price
}

// parseDate reads a date, midnight UTC, or a time. "" is before all others.
func parseDate(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	if err == nil && (at.Year() < 1900 || at.Year() > 9999) {
		err = errors.New("is not a date of prices")
	}
	return at.UTC(), err
}

// start is the time at which a valid period begins.
func (p Period) start() time.Time {
	at, _ := parseDate(p.From)
	return at
}

// Dated reports whether the price of a model depends on time.
func (t *Table) Dated(model string) bool {
	periods := t.Models[model]
	return len(periods) > 1 || len(periods) == 1 && (periods[0].From != "" || periods[0].Hours != nil)
}

// EarlyError is a time before the first prices of a model.
type EarlyError struct{ Msg string }

func (e *EarlyError) Error() string { return e.Msg }

// At returns the prices of a model at a time in microseconds since 1970, UTC,
// which are those of its hour. The time does not matter if the model is not
// Dated. A time before the first period is an *EarlyError.
func (t *Table) At(model string, micros int64) (Period, error) {
	p, err := t.periodAt(model, micros)
	return p.atHour(micros), err
}

// periodAt returns the period of a model at a time, with all its hours.
func (t *Table) periodAt(model string, micros int64) (Period, error) {
	periods, ok := t.Models[model]
	if !ok {
		return Period{}, fmt.Errorf("model %s has no price; the price file has %s",
			textfile.Quoted(model), textfile.Listed(slices.Sorted(maps.Keys(t.Models)), 12))
	}
	for i := range slices.Backward(periods) {
		if periods[i].From == "" || periods[i].since <= micros {
			return periods[i], nil
		}
	}
	return Period{}, &EarlyError{fmt.Sprintf("%s is before %s, when the first prices of model %s begin",
		time.UnixMicro(micros).UTC().Format(time.RFC3339Nano), periods[0].From, textfile.Quoted(model))}
}

// Of returns the table with the given models alone.
func (t *Table) Of(models []string) *Table {
	out := &Table{Currency: t.Currency, Models: make(map[string][]Period)}
	for _, m := range models {
		if periods, ok := t.Models[m]; ok {
			out.Models[m] = periods
		}
	}
	return out
}

// Usage is what a call used: input tokens, of these the ones that the service
// had kept from earlier calls, and output tokens.
type Usage struct {
	In, Cached, Out float64
	Parts
	Batch bool // the call is one of a batch
}

// UsageError is a usage that the prices do not fit.
type UsageError struct {
	Key string // of the usage: in, cached or out, the key of a special price, or batch
	Msg string
}

func (e *UsageError) Error() string { return e.Msg }

// Cost is the money of a call: tokens times their prices, and the price of the
// call. All tokens of a call with a long prompt have the prices of its Tier.
// Tokens without a price are a *UsageError, and so are parts that are more
// than the tokens that they are part of.
func (p Period) Cost(u Usage) (float64, error) {
	if u.Cached > u.In {
		return 0, &UsageError{"cached", fmt.Sprintf("%v cached tokens are more than the %v input tokens that they are part of", u.Cached, u.In)}
	}
	p = p.forPrompt(u.In)
	parts, err := p.split(u)
	if err != nil {
		return 0, err
	}
	money := 0.0
	for _, part := range parts {
		switch {
		case part.tokens == 0:
		case part.price == nil:
			return 0, &UsageError{part.key, fmt.Sprintf("%v tokens have no price: the price file has no %q", part.tokens, part.key)}
		default:
			money += part.tokens / 1e6 * *part.price
		}
	}
	if u.Batch {
		if p.Batch == nil {
			return 0, &UsageError{"batch", "the call is one of a batch, for which the price file has no \"batch\""}
		}
		money *= *p.Batch
	}
	if p.Call != nil {
		money += *p.Call
	}
	return money, nil
}
