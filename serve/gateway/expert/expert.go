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
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"pipe/costs/prices"
	"pipe/experts/service"
)

// BreakerSettings configure the circuit breaker of an expert: when its calls are suspended because they fail.
type BreakerSettings struct {
	Failures uint32        `yaml:"failures"` // failures in a row that open the breaker
	Open     time.Duration `yaml:"open"`     // how long the breaker stays open before the expert is tried again
	Probes   uint32        `yaml:"probes"`   // concurrent calls while it is half open; the same number of successes closes it
}

// DefaultBreaker opens after five failures in a row, and allows one call after half a minute.
func DefaultBreaker() BreakerSettings {
	return BreakerSettings{Failures: 5, Open: 30 * time.Second, Probes: 1}
}

// Validate reports every problem.
func (b BreakerSettings) Validate() error {
	var problems []error
	if b.Failures < 1 {
		problems = append(problems, errors.New("failures: is 0; it must be at least 1"))
	}
	if b.Open < minTime || b.Open > maxTime {
		problems = append(problems, fmt.Errorf("open: is %v, not %v to %v", b.Open, minTime, maxTime))
	}
	if b.Probes < 1 {
		problems = append(problems, errors.New("probes: is 0; it must be at least 1"))
	}
	return errors.Join(problems...)
}

// State is the state of a circuit breaker.
type State int

// The states of a breaker.
const (
	Closed   State = iota // calls are made
	HalfOpen              // a few calls probe whether the expert works again
	Open                  // no call is made
)

// String names the state.
func (s State) String() string { return []string{"closed", "half open", "open"}[s] }

// Expert calls a service. It is safe for concurrent use.
type Expert struct {
	Name            string
	cfg             Settings
	url             string
	key             service.Secret
	secrets         []service.Secret // texts that must not appear in answers and messages
	redactor        redactor         // the same
	client          *http.Client
	fields          map[string]json.RawMessage
	slots           chan struct{} // one per call
	breaker         *gobreaker.TwoStepCircuitBreaker[struct{}]
	breakerSettings BreakerSettings              // of the breaker
	table           atomic.Pointer[prices.Table] // nil: price
}

// New makes an expert. changed is called when its circuit breaker changes its state. The settings must be valid.
func New(name string, s Settings, b BreakerSettings, changed func(name string, to State)) (*Expert, error) {
	client, err := service.NewClient(s.Concurrency, string(s.CAFile))
	if err != nil {
		return nil, err
	}
	// Streams are passed on event by event, so they must not be compressed.
	client.Transport.(service.Transport).DisableCompression = true
	e := &Expert{
		Name: name, cfg: s, url: service.WithQuery(service.ChatURL(s.BaseURL), s.Query),
		client: client, breakerSettings: b, slots: make(chan struct{}, s.Concurrency), fields: make(map[string]json.RawMessage),
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
		list, err := ReadPrices(context.Background(), s.Prices)
		if err != nil {
			return nil, err
		}
		e.table.Store(list)
	}
	e.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: name, MaxRequests: b.Probes, Timeout: b.Open,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= b.Failures },
		IsExcluded:    func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(name string, _, to gobreaker.State) { changed(name, state(to)) },
	})
	return e, nil
}

// TakeOver gives an expert the circuit breaker of the one that it replaces, and its count of running calls, if address, keys
// and limits are the same. It reports whether they are. It must be called before the first call of the new expert.
func (e *Expert) TakeOver(old *Expert) bool {
	if e.breakerSettings != old.breakerSettings || e.key != old.key || !reflect.DeepEqual(e.cfg.callSettings(), old.cfg.callSettings()) {
		return false
	}
	e.breaker, e.slots = old.breaker, old.slots
	return true
}

// callSettings are the settings without prices and names, which do not influence whether calls succeed.
func (s Settings) callSettings() Settings {
	s.Price, s.Prices, s.Served = nil, "", nil
	return s
}

// readSecrets reads the key, and collects the texts that must be redacted.
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
		e.secrets = append(e.secrets, e.key)
	}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Headers)) {
		const least = 8 // bytes; shorter values are no secrets, and would match ordinary text
		value := e.cfg.Headers[name]
		_, word, _ := strings.Cut(string(value), " ")
		for _, text := range []service.Secret{value, service.Secret(word)} { // also without "Bearer "
			if len(text) >= least {
				e.secrets = append(e.secrets, text)
			}
		}
	}
	for _, h := range e.secrets {
		e.redactor.add(string(h))
	}
	return nil
}

// Secrets are the texts that must not be shown: the key, and the values of the extra headers.
func (e *Expert) Secrets() []string {
	all := make([]string, len(e.secrets))
	for i, h := range e.secrets {
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

// State is the state of the circuit breaker. Calls of an expert that is Open fail at once.
func (e *Expert) State() State { return state(e.breaker.State()) }

// FailuresInARow is the number of consecutive failures since the circuit breaker last changed.
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

// Format prints the name for every verb, because the fields hold secrets.
func (e *Expert) Format(s fmt.State, _ rune) { fmt.Fprint(s, e.Name) }

// Failure means that a call failed for a reason that is not the caller's fault. Another expert may answer.
type Failure struct {
	Expert string
	Reason string // one word: busy, open, connect, timeout, status, redirect, cut, empty, invalid, too_large, encoding, error
	Status int    // of the response, 0 if there was none
	Msg    string // the failure in words, without text from the service
	Detail string // text of the service, without secrets; it may quote the request
	After  string // value of Retry-After, "" if the service sent no valid one
	Model  string // that answered, "" if the service did not name it
	Usage  Usage  // that the service reported
	cause  error
}

// Error describes the failure without text from the service.
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

// failure returns a failure of this expert.
func (e *Expert) failure(reason string, cause error, format string, args ...any) *Failure {
	return &Failure{Expert: e.Name, Reason: reason, Msg: fmt.Sprintf(format, args...), cause: cause}
}

// withUsage adds the model and the usage that the service reported for a failed call.
func (f *Failure) withUsage(model string, usage Usage) *Failure {
	f.Model, f.Usage = model, usage.For(false)
	return f
}

// detail is the beginning of a text of the service as one line, without secrets.
func (e *Expert) detail(text []byte) string {
	const most = 4096
	line := string(text[:min(len(text), most)])
	for _, h := range e.secrets {
		line = h.Redact(line)
	}
	return service.Secret("").Excerpt([]byte(line))
}

// redact replaces secrets in a text that is passed on to the caller.
func (e *Expert) redact(text []byte) []byte {
	return e.redactor.redact(text)
}

// begin reserves a place for a call and asks the circuit breaker. end must be called once, with the error of the call. The
// breaker ignores calls that end with context.Canceled.
func (e *Expert) begin() (end func(error), err error) {
	select {
	case e.slots <- struct{}{}:
	default:
		return nil, e.failure("busy", nil, "all %d calls that may run at a time are running", e.cfg.Concurrency)
	}
	done, err := e.breaker.Allow()
	if err != nil {
		<-e.slots
		return nil, e.failure("open", err, "its circuit breaker is open, because its calls failed")
	}
	return func(err error) {
		done(err)
		<-e.slots
	}, nil
}

// Fee is the price of a call.
type Fee struct {
	Money float64
	Known bool
	Since string // date from which the price is valid, "" if it has none
	Other bool   // another model than the configured one answered
}

// Fee computes the fee of a call from the model that answered and its usage. The fee is not known if the usage is not, or if
// that model has no price.
func (e *Expert) Fee(served string, usage Usage, at time.Time) Fee {
	f := Fee{Other: served != "" && !e.Serves(served)}
	period, ok := e.period(served, f.Other, at)
	if !ok || !usage.Known {
		return f
	}
	money, err := period.Cost(usage.Usage())
	if err != nil {
		return f
	}
	f.Money, f.Known, f.Since = money, true, period.From
	return f
}

// period returns the prices of the model that answered.
func (e *Expert) period(served string, other bool, at time.Time) (prices.Period, bool) {
	switch table := e.table.Load(); {
	case table != nil:
		p, err := table.At(cmp.Or(served, e.cfg.Model), at.UnixMicro())
		if err != nil && !other {
			p, err = table.At(e.cfg.Model, at.UnixMicro())
		}
		return p, err == nil
	case e.cfg.Price != nil && !other:
		return e.cfg.Price.period(), true
	}
	return prices.Period{}, false
}

// Serves reports whether a name stands for the configured model: its own name, or a pattern of Settings.Served.
func (e *Expert) Serves(served string) bool {
	return served == e.cfg.Model || slices.ContainsFunc(e.cfg.Served, func(pattern string) bool {
		ok, _ := path.Match(pattern, served) // patterns were checked
		return ok
	})
}
