package serve

import (
	"context"
	"errors"
	"net/http"

	"pipe/serve/access"
)

// Change is the result of a reload for one policy, or for the price file, the keys, the certificate or the gateway.
type Change struct {
	Kind   string `json:"kind"`             // policy, prices, keys, certificate or gateway
	Name   string `json:"name,omitempty"`   // of the policy
	Old    string `json:"old,omitempty"`    // digest of the policy that was served, or of the prices that were used, before
	New    string `json:"new,omitempty"`    // digest of the policy that is served, or of the prices that are used, now
	What   string `json:"what"`             // loaded or refused; for policies and prices a policies.Verdict
	Reason string `json:"reason,omitempty"` // why it was refused or kept
}

// Reload reads the price file, policies, keys, certificates and the settings of the gateway again. Whatever cannot be read is refused, and
// the previous version stays in use.
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
	if changed, err := s.reloadGateway(); changed || err != nil {
		changes = append(changes, s.reloaded("gateway", err))
	}
	return changes
}

// reloadGateway reads the configuration of the gateway again, with its keys, prices and indexes. It does nothing if there
// is no gateway before and after.
func (s *Server) reloadGateway() (changed bool, err error) {
	next := s.config.Gateway
	if s.reread != nil {
		c, err := s.reread()
		if err != nil {
			return false, err
		}
		next = c.Gateway
	}
	if s.parts.gateway == nil {
		if next.Enabled() {
			return false, errors.New("gateway: experts are configured now; a server without its gateway must be started again")
		}
		return false, nil
	}
	return true, s.parts.gateway.Reload(next, func(secrets []string) { s.secrets.Set("experts", secrets) })
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
