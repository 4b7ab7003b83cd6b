package serve

import (
	"encoding/json"
	"net/http"
)

// serveLive is the liveness check.
func (s *Server) serveLive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"live": true})
}

// serveReady is the readiness check.
func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	if reason := s.notReady(); reason != "" {
		writeJSON(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reason": reason})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ready": true})
}

// notReady returns why the server is not ready, "" if it is.
func (s *Server) notReady() string {
	if s.draining.Load() {
		return "the server is stopping"
	}
	if s.parts.log != nil && s.parts.log.Ready() != nil {
		return "decisions cannot be logged"
	}
	return ""
}

// Ready reports whether the server accepts requests.
func (s *Server) Ready() bool { return s.notReady() == "" }

// writeJSON writes a value as the response.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
