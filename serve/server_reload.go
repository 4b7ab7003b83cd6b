package serve

import (
	"context"
	"fmt"
	"net/http"

	"pipe/serve/access"
)

// Change is the result of a reload for one policy, or for another part of the server.
type Change struct {
	Kind   string `json:"kind"`             // policy, prices, keys, certificate, people, gateway, or configuration if it cannot be read
	Name   string `json:"name,omitempty"`   // of the policy
	Old    string `json:"old,omitempty"`    // digest of the policy that was served, or of the prices that were used, before
	New    string `json:"new,omitempty"`    // digest of the policy that is served, or of the prices that are used, now
	What   string `json:"what"`             // loaded or refused; for policies and prices a policies.Verdict
	Reason string `json:"reason,omitempty"` // why it was refused or kept
}

// Reload reads the price file, policies, keys, certificates and the settings of people and of the gateway again. Whatever cannot be
// read is refused, and the previous version stays in use.
func (s *Server) Reload(ctx context.Context) []Change {
	var changes []Change
	for _, c := range s.parts.policies.Reload(ctx) {
		kind := "policy"
		if c.Prices {
			kind = "prices"
		}
		changes = append(changes, Change{Kind: kind, Name: c.Name, Old: c.Old, New: c.New, What: string(c.Verdict), Reason: c.Reason})
	}
	changes = append(changes, s.reloaded("keys", s.access.Reload()))
	if s.certs != nil {
		changes = append(changes, s.reloaded("certificate", s.certs.Reload()))
	}
	return append(changes, s.reloadSections()...)
}

// reloadSections reads the configuration again, and takes over its sections of people and of the gateway, with the keys, prices and
// indexes that they name.
func (s *Server) reloadSections() (changes []Change) {
	next, err := s.config, error(nil)
	if s.reread != nil {
		next, err = s.reread()
	}
	take := func(kind string, there, wanted bool, reload func() error) {
		switch {
		case there && err == nil:
			changes = append(changes, s.reloaded(kind, reload()))
		case there:
			changes = append(changes, s.reloaded(kind, err))
		case wanted:
			changes = append(changes, s.reloaded(kind, fmt.Errorf("%s: experts are configured now; a server that had none must be started again", kind)))
		}
	}
	take("people", s.parts.people != nil, next.People.Enabled(), func() error { return s.parts.people.Reload(next.People) })
	take("gateway", s.parts.gateway != nil, next.Gateway.Enabled(), func() error {
		return s.parts.gateway.Reload(next.Gateway, func(secrets []string) { s.secrets.Set("experts", secrets) })
	})
	if err != nil && len(changes) == 0 {
		changes = append(changes, s.reloaded("configuration", err))
	}
	return changes
}

func (s *Server) reloaded(kind string, err error) Change {
	if err != nil {
		s.log.Error("refused", "kind", kind, "error", err.Error())
		return Change{Kind: kind, What: "refused", Reason: err.Error()}
	}
	return Change{Kind: kind, What: "loaded"}
}

// serveReload answers POST /v1/policies/reload, for administrators.
func (s *Server) serveReload(w http.ResponseWriter, r *http.Request) {
	if err := access.Admin(r.Context()); err != nil {
		access.WriteRefusal(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"changes": s.Reload(r.Context())})
}
