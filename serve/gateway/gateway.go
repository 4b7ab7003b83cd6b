package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"pipe/pipeline/decide"
	"pipe/serve/decision"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/expert"
	"pipe/serve/metrics"
)

// API answers /v1/chat/completions and /v1/models. It is safe for concurrent use.
type API struct {
	decider  *decision.Decider
	metrics  *metrics.Metrics
	log      *slog.Logger
	settings Settings
	experts  map[string]*expert.Expert
	byModel  map[string]*expert.Expert // by the name of the model at the service; the first expert by name
	advice   map[string]*advice.Advice
	changed  sync.Map // of experts by name: when the breaker last changed
	others   sync.Map // expert and model that answered in place of the configured one, as already logged
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
	a := &API{
		decider: d, metrics: m, log: log, settings: s,
		experts: make(map[string]*expert.Expert), byModel: make(map[string]*expert.Expert), advice: make(map[string]*advice.Advice),
	}
	if err := a.open(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	for _, note := range a.Notes() {
		log.Warn(note)
	}
	return a, nil
}

// Notes says what the policies name and the settings do not have, and which experts have no price.
func (a *API) Notes() []string {
	var notes []string
	for _, name := range a.decider.Policies().Names() {
		p, err := a.decider.Policies().Acquire(name)
		if err != nil { // its file changed meanwhile
			continue
		}
		if in := p.Input(); in != decide.InputText && in != decide.InputImage {
			notes = append(notes, fmt.Sprintf("gateway: policy %q takes neither texts nor images, so it cannot decide on a conversation: put its encoder in front (pipe convert --merge), or name it in policies.encoders", name))
		}
		for _, e := range p.Info().Actions.Experts {
			if a.experts[e.Name] == nil {
				notes = append(notes, fmt.Sprintf("gateway: the expert %q of policy %q is not configured, and is never chosen", e.Name, name))
			}
		}
		for _, v := range p.Info().Actions.Advice[1:] {
			if a.advice[v.Name] == nil {
				notes = append(notes, fmt.Sprintf("gateway: the advice %q of policy %q is not configured, and is never chosen", v.Name, name))
			}
		}
		p.Release()
	}
	for _, name := range slices.Sorted(maps.Keys(a.experts)) {
		if s := a.settings.Experts[name]; s.Price == nil && s.Prices == "" {
			notes = append(notes, fmt.Sprintf("gateway: the expert %q has no price, so the fees of its answers are not known", name))
		}
	}
	return notes
}

// Try opens the experts and the advice of settings, and closes them again. The error joins every one that cannot be opened.
// Nothing is sent to experts. No policy is needed.
func Try(s Settings) error {
	a := &API{
		log: slog.New(slog.DiscardHandler), settings: s,
		experts: make(map[string]*expert.Expert), byModel: make(map[string]*expert.Expert), advice: make(map[string]*advice.Advice),
	}
	err := a.open()
	return errors.Join(err, a.Close())
}

// open opens what the settings name. The error joins every one that cannot be opened.
func (a *API) open() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(a.settings.Experts)) {
		e, err := expert.New(name, a.settings.Experts[name], a.settings.Breaker, a.breakerChanged)
		if err != nil {
			errs = append(errs, fmt.Errorf("gateway: experts.%s: %w", name, err))
			continue
		}
		a.experts[name] = e
		if a.byModel[e.Model()] == nil {
			a.byModel[e.Model()] = e
		}
		a.metrics.Breaker(name, metrics.BreakerClosed)
	}
	for _, name := range slices.Sorted(maps.Keys(a.settings.Advice)) {
		v, err := advice.Open(name, a.settings.Advice[name], func(format string, args ...any) { a.log.Warn(fmt.Sprintf(format, args...)) })
		if err != nil {
			errs = append(errs, fmt.Errorf("gateway: advice.%s: %w", name, err))
			continue
		}
		a.advice[name] = v
	}
	return errors.Join(errs...)
}

// breakerChanged tells of a breaker.
func (a *API) breakerChanged(name string, to expert.State) {
	a.metrics.Breaker(name, int(to))
	a.changed.Store(name, time.Now())
	level := slog.LevelInfo
	if to == expert.Open {
		level = slog.LevelWarn
	}
	a.log.Log(context.Background(), level, "the circuit breaker of an expert changed", "expert", name, "state", to.String()) // no request belongs to it
}

// Secrets are the keys of the experts, and the values of their further headers, which must not be shown.
func (a *API) Secrets() []string {
	var all []string
	for _, e := range a.experts {
		all = append(all, e.Secrets()...)
	}
	return all
}

// Close ends idle connections and frees the advice. It waits for running searches.
func (a *API) Close() error {
	var errs []error
	for _, e := range a.experts {
		e.Close()
	}
	for _, v := range a.advice {
		errs = append(errs, v.Close())
	}
	return errors.Join(errs...)
}

// Register adds the routes.
func (a *API) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/chat/completions", a.complete)
	mux.HandleFunc("GET /v1/models", a.models)
	mux.HandleFunc("GET /v1/models/{id...}", a.model)
	for _, route := range []string{"/v1/completions", "/v1/embeddings", "/v1/responses"} {
		mux.HandleFunc("POST "+route, notOffered)
	}
}

// RegisterNone adds the routes of a server without experts, which answer 404 and say why.
func RegisterNone(mux *http.ServeMux) {
	for _, route := range []string{"POST /v1/chat/completions", "GET /v1/models", "GET /v1/models/{id...}"} {
		mux.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) {
			writeError(w, &failure{http.StatusNotFound, invalidRequest, "no_gateway", "", "this server has no gateway: no experts are configured, under gateway.experts"})
		})
	}
}

// notOffered answers calls of OpenAI's API that a policy cannot route.
func notOffered(w http.ResponseWriter, r *http.Request) {
	writeError(w, &failure{http.StatusNotFound, invalidRequest, "not_offered", "", r.URL.Path + " is not offered here; POST /v1/chat/completions is"})
}
