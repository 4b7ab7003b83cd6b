package expert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sony/gobreaker/v2"

	"pipe/costs/prices"
	"pipe/experts/service"
)

// BreakerSettings say when an expert is left alone for a while because its calls fail.
type BreakerSettings struct {
	Failures uint32        `yaml:"failures"` // failures in a row that open the breaker
	Open     time.Duration `yaml:"open"`     // time before the expert is tried again
	Probes   uint32        `yaml:"probes"`   // calls that try it then, at a time; as many that succeed close the breaker
}

// DefaultBreaker opens after five failures in a row, and tries one call after half a minute.
func DefaultBreaker() BreakerSettings {
	return BreakerSettings{Failures: 5, Open: 30 * time.Second, Probes: 1}
}

// Validate reports every problem.
func (b BreakerSettings) Validate() error {
	var problems []error
	if b.Failures < 1 {
		problems = append(problems, errors.New("failures: is 0; it must be at least 1"))
	}
	if b.Open < leastTime || b.Open > mostTime {
		problems = append(problems, fmt.Errorf("open: is %v, not %v to %v", b.Open, leastTime, mostTime))
	}
	if b.Probes < 1 {
		problems = append(problems, errors.New("probes: is 0; it must be at least 1"))
	}
	return errors.Join(problems...)
}

// State is that of an expert's circuit breaker.
type State int

// The states of a breaker.
const (
	Closed   State = iota // calls are made
	HalfOpen              // a few calls try whether the expert works again
	Open                  // no call is made
)

// String names the state.
func (s State) String() string { return []string{"closed", "half open", "open"}[s] }

// Expert calls a service. It is safe for concurrent use.
type Expert struct {
	Name    string
	cfg     Settings
	url     string
	key     service.Secret
	hidden  []service.Secret // what must not appear in answers and messages
	hider   hider            // the same
	client  *http.Client
	fields  map[string]json.RawMessage
	slots   chan struct{} // one per call
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	opens   BreakerSettings // of the breaker
	table   *prices.Table   // nil: price
}

// New makes an expert. changed is called when its breaker changes. The settings must be valid.
func New(name string, s Settings, b BreakerSettings, changed func(name string, to State)) (*Expert, error) {
	client, err := service.NewClient(s.Concurrency, string(s.CAFile))
	if err != nil {
		return nil, err
	}
	// What a service sends is passed on event by event, so it must not be compressed.
	client.Transport.(service.Transport).DisableCompression = true
	e := &Expert{
		Name: name, cfg: s, url: service.WithQuery(service.ChatURL(s.BaseURL), s.Query),
		client: client, opens: b, slots: make(chan struct{}, s.Concurrency), fields: make(map[string]json.RawMessage),
	}
	if err := e.readSecrets(); err != nil {
		return nil, err
	}
	for name, value := range s.Fields {
		if e.fields[name], err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("fields.%s: %w", name, err)
		}
	}
	if s.Prices != "" {
		if e.table, err = prices.Read(string(s.Prices)); err != nil {
			return nil, err
		}
	}
	e.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: name, MaxRequests: b.Probes, Timeout: b.Open,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= b.Failures },
		IsExcluded:    func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(name string, _, to gobreaker.State) { changed(name, state(to)) },
	})
	return e, nil
}

// Continue lets an expert take over the breaker of the one that it replaces, and the count of running calls, if its address,
// keys and limits are the same. It reports whether they are. The expert must not have been called.
func (e *Expert) Continue(old *Expert) bool {
	if e.opens != old.opens || e.key != old.key || !reflect.DeepEqual(e.cfg.called(), old.cfg.called()) {
		return false
	}
	e.breaker, e.slots = old.breaker, old.slots
	return true
}

// called are the settings on which it depends whether calls succeed.
func (s Settings) called() Settings {
	s.Price, s.Prices, s.Served = nil, "", nil
	return s
}

// readSecrets reads the key, and collects what must be hidden.
func (e *Expert) readSecrets() (err error) {
	switch {
	case e.cfg.Key != "":
		e.key, err = service.ReadSecret(e.cfg.Key)
	case e.cfg.KeyFile != "":
		e.key, err = service.ReadSecretFile(string(e.cfg.KeyFile))
	}
	if err != nil {
		return err
	}
	if e.key != "" {
		e.hidden = append(e.hidden, e.key)
	}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Headers)) {
		const least = 8 // bytes; shorter values are no secrets, and would be found in any answer
		value := e.cfg.Headers[name]
		_, word, _ := strings.Cut(string(value), " ")
		for _, text := range []service.Secret{value, service.Secret(word)} { // also without "Bearer "
			if len(text) >= least {
				e.hidden = append(e.hidden, text)
			}
		}
	}
	for _, h := range e.hidden {
		e.hider.add(string(h))
	}
	return nil
}

// Secrets are what must not be shown: the key, and the values of further headers.
func (e *Expert) Secrets() []string {
	all := make([]string, len(e.hidden))
	for i, h := range e.hidden {
		all[i] = string(h)
	}
	return all
}

// Close ends the idle connections.
func (e *Expert) Close() { e.client.CloseIdleConnections() }

// Model is the configured name of the model at the service.
func (e *Expert) Model() string { return e.cfg.Model }

// URL is the address that is called.
func (e *Expert) URL() string { return e.url }

// State is that of the breaker. An expert that is Open is not to be asked.
func (e *Expert) State() State { return state(e.breaker.State()) }

// FailuresInARow are those since the breaker last changed.
func (e *Expert) FailuresInARow() int { return int(e.breaker.Counts().ConsecutiveFailures) }

func state(s gobreaker.State) State {
	switch s {
	case gobreaker.StateOpen:
		return Open
	case gobreaker.StateHalfOpen:
		return HalfOpen
	}
	return Closed
}

// Format prints the name, whatever the verb, since the fields hold secrets.
func (e *Expert) Format(s fmt.State, _ rune) { fmt.Fprint(s, e.Name) }

// Failure means that a service gave no answer, for a reason that is not the caller's: another expert may answer.
type Failure struct {
	Expert string
	Reason string // one word: busy, open, connect, timeout, status, redirect, cut, empty, invalid, too_large, encoding, error
	Status int    // of the response, 0 if there was none
	Msg    string // in words, without text from the service
	Detail string // what the service said, without secrets; it may quote the request
	After  string // value of Retry-After, "" if the service sent none that is usable
	Model  string // that answered, "" if the service did not say
	Usage  Usage  // what the service states that it used
	cause  error
}

// Error says what happened, without text from the service.
func (f *Failure) Error() string { return f.Expert + ": " + f.Msg }

// Unwrap returns the cause, nil if there is none.
func (f *Failure) Unwrap() error { return f.cause }

// Label is a short name of the failure for metrics.
func (f *Failure) Label() string {
	if f.Reason == "status" {
		return fmt.Sprintf("status_%d", f.Status)
	}
	return f.Reason
}

// fault returns a failure of this expert.
func (e *Expert) fault(reason string, cause error, format string, args ...any) *Failure {
	return &Failure{Expert: e.Name, Reason: reason, Msg: fmt.Sprintf(format, args...), cause: cause}
}

// used notes what a service states of an answer that is a failure.
func (f *Failure) used(model string, usage Usage) *Failure {
	f.Model, f.Usage = model, usage.For(false)
	return f
}

// detail is the beginning of a text of the service without secrets, for one line.
func (e *Expert) detail(text []byte) string {
	const most = 4096
	line := string(text[:min(len(text), most)])
	for _, h := range e.hidden {
		line = h.Redact(line)
	}
	return service.Secret("").Excerpt([]byte(line))
}

// clean replaces secrets in what is passed on.
func (e *Expert) clean(text []byte) []byte {
	return e.hider.clean(text)
}

// begin takes a slot and asks the breaker. end must be called once, with the error of the call; an error that is
// context.Canceled says nothing about the expert.
func (e *Expert) begin() (end func(error), err error) {
	select {
	case e.slots <- struct{}{}:
	default:
		return nil, e.fault("busy", nil, "all %d calls that may run at a time are running", e.cfg.Concurrency)
	}
	done, err := e.breaker.Allow()
	if err != nil {
		<-e.slots
		return nil, e.fault("open", err, "its calls failed, and it is left alone for a while")
	}
	return func(err error) {
		done(err)
		<-e.slots
	}, nil
}

// Fee is what a call cost, and by which prices.
type Fee struct {
	Money float64
	Known bool
	Since string // date from which the price holds, "" if it has none
	Other bool   // the service answered with another model than the configured one
}

// Fee computes the money of a call from the model that answered, and its usage. The fee is not known if the usage or a
// price is not, or if another model answered which has no price.
func (e *Expert) Fee(served string, usage Usage, at time.Time) Fee {
	f := Fee{Other: served != "" && !e.Serves(served)}
	period, ok := e.period(served, f.Other, at)
	if !ok || !usage.Known {
		return f
	}
	money, err := period.Cost(prices.Usage{In: float64(usage.In), Cached: float64(usage.Cached), Out: float64(usage.Out)})
	if err != nil {
		return f
	}
	f.Money, f.Known, f.Since = money, true, period.From
	return f
}

// period returns the prices of a model that answered.
func (e *Expert) period(served string, other bool, at time.Time) (prices.Period, bool) {
	switch {
	case e.table != nil:
		p, err := e.table.At(cmp.Or(served, e.cfg.Model), at.UnixMicro())
		if err != nil && !other {
			p, err = e.table.At(e.cfg.Model, at.UnixMicro())
		}
		return p, err == nil
	case e.cfg.Price != nil && !other:
		return e.cfg.Price.period(), true
	}
	return prices.Period{}, false
}

// Serves reports whether a name is that of the configured model.
func (e *Expert) Serves(served string) bool {
	return served == e.cfg.Model || slices.ContainsFunc(e.cfg.Served, func(pattern string) bool {
		ok, _ := path.Match(pattern, served) // patterns were checked
		return ok
	})
}
