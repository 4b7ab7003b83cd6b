package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"pipe/costs"
	"pipe/pipeline/decide"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/expert"
	"pipe/serve/metrics"
	"pipe/serve/policies"
)

// backends are the experts and the advice of the settings as they were read once. A request keeps those with which it began.
type backends struct {
	settings Settings
	experts  map[string]*expert.Expert
	byModel  map[string]*expert.Expert // by the name of the model at the service; the first expert by name
	advice   map[string]*advice.Advice
	silent   map[string]*atomic.Bool // of experts by name: changes of their breaker are no longer told
	users    int                     // running requests, and the API; guarded by its lock
}

// openBackends opens what the settings name. An expert that is as it was before keeps its breaker and its places; before may
// be nil.
func (a *API) openBackends(s Settings, before *backends) (*backends, error) {
	b := &backends{
		settings: s, users: 1, experts: make(map[string]*expert.Expert), byModel: make(map[string]*expert.Expert),
		advice: make(map[string]*advice.Advice), silent: make(map[string]*atomic.Bool),
	}
	if err := b.open(a, before); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// open reports everything that cannot be opened.
func (b *backends) open(a *API, before *backends) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(b.settings.Experts)) {
		silent := new(atomic.Bool)
		e, err := expert.New(name, b.settings.Experts[name], b.settings.Breaker, func(name string, to expert.State) {
			if !silent.Load() {
				a.breakerChanged(name, to)
			}
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("gateway: experts.%s: %w", name, err))
			continue
		}
		if before != nil && before.experts[name] != nil && e.Continue(before.experts[name]) {
			silent = before.silent[name]
		}
		b.experts[name], b.silent[name] = e, silent
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

// secrets are what must not be shown.
func (b *backends) secrets() []string {
	var all []string
	for _, e := range b.experts {
		all = append(all, e.Secrets()...)
	}
	return all
}

// use returns the present backends. They stay open until the caller has given them to release.
func (a *API) use() *backends {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.now.users++
	return a.now
}

// release closes backends that were replaced, after their last request.
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

// Reload opens the experts and the advice of the settings, with their keys, prices and indexes, and replaces all of the
// present ones at once. Running requests keep theirs. An expert whose address, key and limits are as before keeps the state
// of its breaker. After an error everything stays as it was. hide is called with the secrets of both before the first
// request can use the new ones.
func (a *API) Reload(s Settings, hide func(secrets []string)) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if err := s.Validate(); err != nil {
		return err
	}
	if !s.Enabled() {
		return errors.New("gateway: no experts are configured; a server without its gateway must be started again")
	}
	old := a.use()
	defer a.release(old)
	next, err := a.openBackends(s, old)
	if err != nil {
		return err
	}
	hide(append(old.secrets(), next.secrets()...))
	a.lock.Lock()
	a.now = next
	a.lock.Unlock()
	a.retell(old, next)
	a.release(old) // the API's own share
	for _, note := range a.Notes() {
		a.log.Warn(note)
	}
	return nil
}

// retell resets what is told of breakers that were replaced.
func (a *API) retell(old, next *backends) {
	for name, silent := range old.silent {
		if next.silent[name] == silent {
			continue
		}
		silent.Store(true)
		a.changed.Delete(name)
		a.metrics.NoBreaker(name)
	}
	for name, silent := range next.silent {
		if old.silent[name] != silent {
			a.metrics.Breaker(name, metrics.BreakerClosed)
		}
	}
}

// usable is an *UnusableError if a policy cannot decide on conversations, or none of its experts is configured.
func (b *backends) usable(p *policies.Policy) error {
	if in := p.Input(); in != decide.InputText && in != decide.InputImage {
		return &UnusableError{fmt.Sprintf("policy %q takes neither texts nor images, so it cannot decide on a conversation: put its encoder in front (pipe convert --merge), or name it in policies.encoders", p.Name)}
	}
	if !slices.ContainsFunc(p.Info().Actions.Experts, func(e costs.Expert) bool { return b.experts[e.Name] != nil }) {
		return &UnusableError{fmt.Sprintf("no expert of policy %q is configured, so it cannot answer: add them under gateway.experts", p.Name)}
	}
	return nil
}
