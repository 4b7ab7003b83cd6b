package decideapi

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"pipe/serve/access"
	"pipe/serve/decision"
)

// API answers requests for decisions. It is safe for concurrent use.
type API struct {
	decider  *decision.Decider
	slog     *slog.Logger
	settings Settings
	openapi  []byte   // the OpenAPI file of the server
	pairs    sync.Map // digest of a policy -> *pairTexts
}

// New returns the API of a decider. The logger may be nil. absent are the tags of openapi.json whose paths the server does
// not have; they are left out of its OpenAPI file.
func New(d *decision.Decider, l *slog.Logger, s Settings, absent ...string) (*API, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	described, err := describeServer(absent)
	if err != nil {
		return nil, err
	}
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return &API{decider: d, slog: l, settings: s, openapi: described}, nil
}

// Register adds the routes to mux.
func (a *API) Register(mux *http.ServeMux) {
	a.route(mux, "POST", "/v1/decide", a.decide)
	a.route(mux, "POST", "/v1/outcomes", a.outcomes)
	a.route(mux, "GET", "/v1/policies", a.policies)
	a.route(mux, "GET", "/openapi.json", a.openAPI)
}

// handler writes a response with status 200, or returns an error for the response.
type handler func(w http.ResponseWriter, r *http.Request) error

func (a *API) route(mux *http.ServeMux, method, path string, do handler) {
	mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) {
		if err := do(w, r); err != nil {
			a.fail(w, r, err)
		}
	})
	allow := method
	if method == http.MethodGet {
		allow += ", HEAD"
	}
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		a.fail(w, r, &requestError{status: http.StatusMethodNotAllowed, code: "method_not_allowed", message: "the method is " + method + ", not " + r.Method})
	})
}

// decide answers POST /v1/decide.
func (a *API) decide(w http.ResponseWriter, r *http.Request) error {
	start := time.Now()
	body, err := readBody(w, r, a.settings.Body)
	if err != nil {
		return err
	}
	defer body.release()
	ask, err := parse(body.bytes, r.Header, a.settings.Rows)
	if err != nil {
		return err
	}
	ask.request.Client = access.CallerOf(r.Context()).Name
	ask.request.Decode = time.Since(start)
	if ask.executed != nil {
		return a.next(w, r, ask)
	}
	result, err := a.decider.Decide(r.Context(), ask.request)
	if err != nil {
		return err
	}
	// The record is logged before the response is sent, because the outcome may follow at once.
	if err := result.Done(); err != nil {
		return err
	}
	out := buffers.Get().(*buffer)
	defer out.release()
	out.bytes = a.append(out.bytes[:0], result, ask.top)
	h := w.Header()
	h.Set("X-Request-Id", result.RequestID())
	writeJSON(w, http.StatusOK, out.bytes)
	return nil
}

// writeJSON writes a response. Write errors are ignored, because the client may have disconnected.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = noSniff
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

var jsonType, noSniff = []string{"application/json"}, []string{"nosniff"}

// fail writes an error response.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := asRequestError(err)
	if after := retryAfter(err); after > 0 {
		access.SetRetryAfter(w.Header(), after)
	}
	if e.status >= 500 && e.code != codeNoLog { // the server logs once that the log has stopped
		a.slog.ErrorContext(r.Context(), "a request failed", "path", r.URL.Path, "status", e.status, "error", err)
	}
	writeJSON(w, e.status, e.json())
}
