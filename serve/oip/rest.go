package oip

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"pipe/serve/access"
)

// Register adds the REST routes to mux, all under /v2. Every response with a status other than 200 is {"error": "..."}.
func (a *API) Register(mux *http.ServeMux) {
	route := func(method, pattern string, f http.HandlerFunc) {
		mux.HandleFunc(method+" "+pattern, f)
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", method)
			writeProblem(w, problemf(badMethod, "%s takes %s, not %s", r.URL.Path, method, r.Method))
		})
	}
	get := func(pattern string, f func(*http.Request) (any, error)) {
		route("GET", pattern, func(w http.ResponseWriter, r *http.Request) { answerJSON(w, f, r) })
	}
	ofModel := func(rest string, f func(*http.Request) (any, error)) {
		get("/v2/models/{model}"+rest, f)
		get("/v2/models/{model}/versions/{version}"+rest, f)
	}
	get("/v2", a.restServer)
	get("/v2/{$}", a.restServer)
	route("GET", "/v2/health/live", a.restLive)
	route("GET", "/v2/health/ready", a.restReady)
	ofModel("", a.restModel)
	ofModel("/ready", a.restModelReady)
	ofModel("/config", a.restConfig)
	ofModel("/stats", a.restStats)
	// For other methods than GET this is the model with the name stats.
	mux.HandleFunc("GET /v2/models/stats", func(w http.ResponseWriter, r *http.Request) { answerJSON(w, a.restStats, r) })
	route("POST", "/v2/repository/index", func(w http.ResponseWriter, r *http.Request) { answerJSON(w, a.restIndex, r) })
	route("POST", "/v2/models/{model}/infer", a.restInfer)
	route("POST", "/v2/models/{model}/versions/{version}/infer", a.restInfer)
	mux.HandleFunc("/v2/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, problemf(unknown, "no call %s %s of the Open Inference Protocol is served", r.Method, r.URL.Path))
	})
}

// answerJSON writes the result of f.
func answerJSON(w http.ResponseWriter, f func(*http.Request) (any, error), r *http.Request) {
	v, err := f(r)
	if err != nil {
		writeProblem(w, err)
		return
	}
	writeJSON(w, http.StatusOK, v)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may be gone
}

// writeProblem writes an error response.
func writeProblem(w http.ResponseWriter, err error) {
	k := internal
	if p, ok := errors.AsType[*problem](err); ok {
		k = p.kind
	}
	var again interface{ RetryAfter() time.Duration }
	if errors.As(err, &again) {
		access.SetRetryAfter(w.Header(), again.RetryAfter())
	}
	writeJSON(w, k.status, map[string]string{"error": err.Error()})
}

// restLive is the liveness check.
func (a *API) restLive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]bool{"live": true})
}

// restReady is the readiness check.
func (a *API) restReady(w http.ResponseWriter, _ *http.Request) {
	status, ready := http.StatusOK, a.ready()
	if !ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, map[string]bool{"ready": ready})
}

// restServer returns the metadata of the server.
func (a *API) restServer(*http.Request) (any, error) {
	return struct {
		Name       string   `json:"name"`
		Version    string   `json:"version"`
		Extensions []string `json:"extensions"`
	}{"pipe", a.version, extensions}, nil
}

// restTensor describes an input or output.
type restTensor struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

// restModel returns the metadata of a model.
func (a *API) restModel(r *http.Request) (any, error) {
	about, err := a.metadata(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return nil, err
	}
	tensors := func(list []tensorInfo) []restTensor {
		out := make([]restTensor, len(list))
		for i, t := range list {
			out[i] = restTensor{t.name, t.datatype, t.shape}
		}
		return out
	}
	return struct {
		Name     string       `json:"name"`
		Versions []string     `json:"versions"`
		Platform string       `json:"platform"`
		Inputs   []restTensor `json:"inputs"`
		Outputs  []restTensor `json:"outputs"`
	}{about.name, about.versions, platform, tensors(about.inputs), tensors(about.outputs)}, nil
}

// restModelReady is the readiness check of a model.
func (a *API) restModelReady(r *http.Request) (any, error) {
	p, err := a.acquire(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return nil, err
	}
	defer p.Release()
	if !a.ready() {
		return nil, problemf(unavailable, "the server is not ready")
	}
	return struct {
		Name  string `json:"name"`
		Ready bool   `json:"ready"`
	}{p.Name, true}, nil
}
