package gateway

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"

	"pipe/costs"
	"pipe/internal/config"
	"pipe/pipeline/decide"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/patience"
	"pipe/serve/policies"
)

// backends are the experts and the advice of one version of the settings. A request uses the same backends until it ends.
type backends struct {
	settings Settings
	experts  map[string]*expert.Expert
	byModel  map[string]*expert.Expert // by the name of the model at the service; the first expert by name
	advice   map[string]*advice.Advice
	retired  map[string]*atomic.Bool // by expert: true once it was replaced and changes of its breaker are no longer reported
	learner  *patience.Learner       // of the API: it is not closed with the backends; nil: no times are learned
	users    int                     // the API itself and every running request; guarded by API.lock
}

// openBackends opens what the settings name. An expert that has not changed since before takes over its circuit breaker and
// the count of its running calls; before may be nil.
func (a *API) openBackends(s Settings, before *backends) (*backends, error) {
	b := &backends{
		settings: s, users: 1, experts: make(map[string]*expert.Expert), byModel: make(map[string]*expert.Expert),
		advice: make(map[string]*advice.Advice), retired: make(map[string]*atomic.Bool),
	}
	if err := b.open(a, before); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// open opens all experts and advice. The error joins every problem.
func (b *backends) open(a *API, before *backends) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(b.settings.Experts)) {
		retired := new(atomic.Bool)
		e, err := expert.New(name, b.settings.Experts[name], b.settings.Breaker, func(name string, to expert.State) {
			if !retired.Load() {
				a.breakerChanged(name, to)
			}
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("gateway: experts.%s: %w", name, err))
			continue
		}
		if before != nil && before.experts[name] != nil && e.TakeOver(before.experts[name]) {
			retired = before.retired[name]
		}
		b.experts[name], b.retired[name] = e, retired
		if b.byModel[e.Model()] == nil {
			b.byModel[e.Model()] = e
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.settings.Advice)) {
		v, err := advice.Open(name, b.settings.Advice[name], func(format string, args ...any) { a.log.Warn(fmt.Sprintf(format, args...)) })
		if err != nil {
			errs = append(errs, fmt.Errorf("gateway: advice.%s: %w", name, err))
			continue
		}
		b.advice[name] = v
	}
	if err := b.checkBudgets(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		errs = append(errs, b.openLearner(a, before)) // the last one, as nothing closes it if another fails
	}
	return errors.Join(errs...)
}

// close ends idle connections and frees the advice. It waits for running searches.
func (b *backends) close() error {
	var errs []error
	for _, e := range b.experts {
		e.Close()
	}
	for _, v := range b.advice {
		errs = append(errs, v.Close())
	}
	return errors.Join(errs...)
}

// secrets are the texts that must not appear in logs.
func (b *backends) secrets() []string {
	var all []string
	for _, e := range b.experts {
		all = append(all, e.Secrets()...)
	}
	return all
}

// acquire returns the current backends. They stay open until the caller releases them.
func (a *API) acquire() *backends {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.current.users++
	return a.current
}

// hold keeps acquired backends open for one more user, who releases them.
func (a *API) hold(b *backends) {
	a.lock.Lock()
	defer a.lock.Unlock()
	b.users++
}

// release ends the use of backends. The last user of backends that were replaced closes them.
func (a *API) release(b *backends) {
	a.lock.Lock()
	b.users--
	last := b.users == 0
	a.lock.Unlock()
	if !last {
		return
	}
	if err := b.close(); err != nil {
		a.log.Error("experts and advice that were replaced could not be closed", "error", err.Error())
	}
}

// Reload opens the experts and the advice of the settings, with their keys, prices and indexes, and replaces the current
// ones. Running requests finish with the old ones. An expert whose address, key and limits have not changed keeps the state
// of its circuit breaker. After an error nothing is replaced. hide is called with the old and the new secrets before the
// first request can use the new ones.
func (a *API) Reload(s Settings, hide func(secrets []string)) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if err := s.Validate(); err != nil {
		return err
	}
	if !s.Enabled() {
		return errors.New("gateway: no experts are configured; a server without its gateway must be started again")
	}
	old := a.acquire()
	defer a.release(old)
	if changed := s.Panel.Fixed() != old.settings.Panel.Fixed(); (a.panel == nil) && s.Panel.Enabled() || a.panel != nil && changed {
		return errors.New("gateway: panel: only share, pairs, call_cost and grader change while the server runs; for the rest, or a panel where there was none, start it again")
	}
	if old.fileChanged(s) {
		return errors.New("gateway: patience: file changes only when the server is started again")
	}
	if err := a.checkLatency(s); err != nil {
		return err
	}
	if !s.Sessions.Same(old.settings.Sessions) {
		return errors.New("gateway: sessions: only header, ttl, turns and keep change while the server runs; for the rest, or sessions where there were none, start it again")
	}
	if !reflect.DeepEqual(s.Budgets, old.settings.Budgets.AsRead()) {
		return errors.New("gateway: budgets: they change when the server is started again")
	}
	s.People = old.settings.People
	next, err := a.openBackends(s, old)
	if err != nil {
		return err
	}
	next.learner.Set(s.Patience)
	hide(append(old.secrets(), next.secrets()...))
	a.lock.Lock()
	a.current = next
	a.lock.Unlock()
	a.resetBreakerMetrics(old, next)
	a.release(old) // for the API itself
	for _, note := range append(a.Notes(), config.Lines(a.Problems())...) {
		a.log.Warn(note)
	}
	return nil
}

// resetBreakerMetrics resets the metrics of the circuit breakers that were replaced, and stops reports of the old ones.
func (a *API) resetBreakerMetrics(old, next *backends) {
	for name, retired := range old.retired {
		if next.retired[name] == retired {
			continue // the new expert has taken over the breaker
		}
		retired.Store(true)
		a.breakerChanges.Delete(name)
		a.metrics.NoBreaker(name)
	}
	for name, retired := range next.retired {
		if old.retired[name] != retired {
			a.metrics.Breaker(name, int(expert.Closed))
		}
	}
}

// usable returns an *unusableError if a policy cannot decide on conversations, or none of its experts is configured.
func (b *backends) usable(p *policies.Policy) error {
	if in := p.Input(); in != decide.InputText && in != decide.InputImage {
		return &unusableError{fmt.Sprintf("policy %q takes neither texts nor images, so it cannot decide on a conversation: put its encoder in front (pipe convert --merge), or name it in policies.encoders", p.Name)}
	}
	if err := b.checkInstead(p); err != nil {
		return err
	}
	if !slices.ContainsFunc(p.Info().Actions.Experts, func(e costs.Expert) bool { return b.experts[e.Name] != nil || b.settings.People.Has(e.Name) }) {
		return &unusableError{fmt.Sprintf("no expert of policy %q is configured, so it cannot answer: add them under gateway.experts", p.Name)}
	}
	return nil
}
