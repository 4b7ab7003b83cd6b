package gateway

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// modelEntry is a model in OpenAI's list.
type modelEntry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // seconds since 1970; 0 for experts
	OwnedBy string `json:"owned_by"`
}

// list returns every model that a request can name: the default policy, every policy that can decide on conversations and
// has a configured expert, and every expert.
func (a *API) list() []modelEntry {
	b := a.acquire()
	defer a.release(b)
	out := []modelEntry{}
	add := func(id, policy string) {
		if p, err := a.decider.Policies().Acquire(policy); err == nil {
			if b.usable(p) == nil {
				out = append(out, modelEntry{id, "model", p.Loaded.Unix(), "pipe"})
			}
			p.Release()
		}
	}
	add(policyModel, "")
	for _, name := range a.decider.Policies().Names() {
		add(policyModel+"/"+name, name)
	}
	for _, name := range slices.Sorted(maps.Keys(b.experts)) {
		out = append(out, modelEntry{name, "model", 0, "expert"})
	}
	return out
}

// models answers GET /v1/models.
func (a *API) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"object": "list", "data": a.list()})
}

// model answers GET /v1/models/ID.
func (a *API) model(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	all := a.list()
	i := slices.IndexFunc(all, func(m modelEntry) bool { return m.ID == id })
	if i < 0 {
		writeError(w, unknownModel(id))
		return
	}
	writeJSON(w, all[i])
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// policyOf returns the policy that a model's name stands for, "" for the default one. ok is false for other models.
func policyOf(model string) (name string, ok bool) {
	if model == policyModel {
		return "", true
	}
	return strings.CutPrefix(model, policyModel+"/")
}
