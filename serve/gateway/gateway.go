package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"pipe/internal/config"
	"pipe/pipeline/decide"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/responses"
	"pipe/serve/gateway/session"
	"pipe/serve/metrics"
)

// API answers requests for answers of models in several protocols, and /v1/models. It is safe for concurrent use.
type API struct {
	decider        *decision.Decider
	metrics        *metrics.Metrics
	log            *slog.Logger
	lock           sync.Mutex
	current        *backends  // guarded by lock
	reloading      sync.Mutex // held by Reload
	breakerChanges sync.Map   // of experts by name: when the breaker last changed
	otherModels    loggedModels
	panel          *panel // nil: none is configured
	conversations  responses.Store
	hedges         hedges
	sessions       *session.Sessions // nil: none are configured
	budgets        *budget.Budgets   // nil: none are configured
}

// New opens the experts and the advice of the settings. Metrics and log may be nil. The caller closes the API after the
// server has stopped.
func New(d *decision.Decider, m *metrics.Metrics, log *slog.Logger, s Settings) (*API, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a := &API{decider: d, metrics: m, log: log}
	err := a.checkLatency(s)
	if err != nil {
		return nil, err
	}
	if a.current, err = a.openBackends(s, nil); err != nil {
		return nil, err
	}
	if s.Budgets.Enabled() {
		if a.budgets, err = budget.Open(context.Background(), s.Budgets, budget.Options{Log: log}); err != nil {
			return nil, errors.Join(fmt.Errorf("gateway: %w", err), a.current.close(), a.current.learner.Close())
		}
	}
	if s.Panel.Enabled() {
		if a.panel, err = newPanel(a, s.Panel); err != nil {
			return nil, errors.Join(fmt.Errorf("gateway: panel: %w", err), a.closeBudgets(), a.current.close(), a.current.learner.Close())
		}
	}
	if err = a.openSessions(s.Sessions); err != nil {
		return nil, errors.Join(fmt.Errorf("gateway: sessions: %w", err), a.Close())
	}
	if err = a.checkGuarantees(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	for name := range a.current.experts {
		m.Breaker(name, int(expert.Closed))
	}
	for _, note := range append(a.Notes(), config.Lines(a.Problems())...) {
		log.Warn(note)
	}
	return a, nil
}

// checkGuarantees refuses policies that leave what they do not accept to an expert that is not there. One that is loaded later cannot be
// used, as its error says.
func (a *API) checkGuarantees() error {
	for _, name := range a.decider.Policies().Names() {
		p, err := a.decider.Policies().Acquire(name)
		if err != nil { // its file changed meanwhile
			continue
		}
		if in := p.Input(); p.Guarantee() != nil && (in == decide.InputText || in == decide.InputImage) {
			err = a.current.usable(p)
		}
		p.Release()
		if err != nil {
			return fmt.Errorf("gateway: %w", err)
		}
	}
	return nil
}

// Notes are warnings about the configuration: experts and advice of the policies that the settings lack, and experts
// without all prices.
func (a *API) Notes() []string {
	b := a.acquire()
	defer a.release(b)
	var notes []string
	for _, name := range a.decider.Policies().Names() {
		p, err := a.decider.Policies().Acquire(name)
		if err != nil { // its file changed meanwhile
			continue
		}
		if err := b.usable(p); err != nil {
			notes = append(notes, "gateway: "+err.Error())
		}
		if pair := b.settings.fixedPair(); !decision.NamesPair(p.Info(), pair) {
			notes = append(notes, fmt.Sprintf("gateway: policy %q has no pair %q for conversations without a text: without_text can name one, such as %s", name, pair, p.Info().Actions.Name(0)))
		}
		notes = append(notes, b.budgetNotes(p)...)
		for _, e := range p.Info().Actions.Experts {
			if b.experts[e.Name] == nil && !b.settings.People.Has(e.Name) {
				notes = append(notes, fmt.Sprintf("gateway: the expert %q of policy %q is not configured, and is never chosen", e.Name, name))
			}
		}
		for _, v := range p.Info().Actions.Advice[1:] {
			if b.advice[v.Name] == nil {
				notes = append(notes, fmt.Sprintf("gateway: the advice %q of policy %q is not configured, and is never chosen", v.Name, name))
			}
		}
		notes = append(notes, b.sessionNotes(p)...)
		p.Release()
	}
	for _, name := range slices.Sorted(maps.Keys(b.experts)) {
		notes = append(notes, b.patienceNotes(name)...)
		s := b.settings.Experts[name]
		if short := s.Shortened(); short != "" {
			notes = append(notes, fmt.Sprintf("gateway: base_url of the expert %q was shortened to %s; the service is called at %s", name, short, b.experts[name].URL()))
		}
		if s.Price == nil && s.Prices == "" {
			notes = append(notes, fmt.Sprintf("gateway: the expert %q has no price, so the fees of its answers are not known", name))
		} else if s.Price != nil && len(s.Price.Missing()) > 0 {
			notes = append(notes, fmt.Sprintf("gateway: price of the expert %q has no %s, so the fees of answers with such tokens are not known", name, strings.Join(s.Price.Missing(), " and no ")))
		}
	}
	return notes
}

// Try opens the experts and the advice of settings, and closes them again. The error joins every one that cannot be opened.
// Nothing is sent to experts. No policy is needed.
func Try(s Settings) error {
	a := &API{log: slog.New(slog.DiscardHandler)}
	b, err := a.openBackends(s, nil)
	if err != nil {
		return err
	}
	return errors.Join(b.close(), b.learner.Close())
}

// breakerChanged logs and counts a change of an expert's circuit breaker.
func (a *API) breakerChanged(name string, to expert.State) {
	a.metrics.Breaker(name, int(to))
	a.breakerChanges.Store(name, time.Now())
	level := slog.LevelInfo
	if to == expert.Open {
		level = slog.LevelWarn
	}
	a.log.Log(context.Background(), level, "the circuit breaker of an expert changed", "expert", name, "state", to.String()) // it belongs to no request
}

// Secrets are the texts that must not appear in logs: the keys of the experts and the values of their extra headers.
func (a *API) Secrets() []string {
	b := a.acquire()
	defer a.release(b)
	return b.secrets()
}

// Close abandons the panel, ends idle connections and frees the advice. It waits for running searches. It must be called once.
func (a *API) Close() (err error) {
	if a.panel != nil {
		err = a.panel.close()
	}
	if a.sessions != nil {
		err = errors.Join(err, a.sessions.Close())
	}
	err = errors.Join(err, a.closeBudgets())
	a.lock.Lock()
	defer a.lock.Unlock()
	return errors.Join(err, a.current.close(), a.current.learner.Close())
}

func (a *API) closeBudgets() error {
	if a.budgets == nil {
		return nil
	}
	return a.budgets.Close()
}

// Register adds the routes.
func (a *API) Register(mux *http.ServeMux) {
	for path, caller := range protocol.Callers() {
		mux.HandleFunc("POST /v1/"+path, a.answer(caller))
	}
	mux.HandleFunc("GET /v1/people/tickets/{id}", a.serveTicket)
	mux.HandleFunc("GET /v1/models", a.models)
	mux.HandleFunc("GET /v1/budgets", a.serveBudgets)
	mux.HandleFunc("GET /v1/models/{id...}", a.model)
}

// RegisterNone adds the routes of a server without experts. They answer 404 with the reason.
func RegisterNone(mux *http.ServeMux) {
	none := func(caller protocol.Caller) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			writeErrorTo(w, caller, &failure{http.StatusNotFound, invalidRequest, "no_gateway", "", "this server has no gateway: no experts are configured, under gateway.experts"})
		}
	}
	for path, caller := range protocol.Callers() {
		mux.HandleFunc("POST /v1/"+path, none(caller))
	}
	mux.HandleFunc("GET /v1/models", none(protocol.Chat))
	mux.HandleFunc("GET /v1/models/{id...}", none(protocol.Chat))
}

// maxLoggedModels bounds the logged names of models that answered without being configured. A service that makes up names
// would otherwise fill the memory and the log. Metrics count all of them.
const maxLoggedModels = 1000

// loggedModels are the unexpected models of experts that were logged already.
type loggedModels struct {
	lock   sync.Mutex
	logged map[string]bool
}

// first reports whether a model of an expert is new and should be logged.
func (o *loggedModels) first(expert, model string) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	name := expert + "\x00" + headerValue(model)
	if o.logged[name] || len(o.logged) >= maxLoggedModels {
		return false
	}
	if o.logged == nil {
		o.logged = make(map[string]bool)
	}
	o.logged[name] = true
	return true
}
