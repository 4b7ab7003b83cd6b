package serve

import (
	"encoding/json"
	"net/http"
)

// serveLive says that the process answers.
func (s *Server) serveLive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"live": true})
}

// serveReady says whether requests should be sent here.
func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	if reason := s.notReady(); reason != "" {
		writeJSON(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reason": reason})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ready": true})
}

// notReady is why requests should be sent elsewhere, "" if they should not.
func (s *Server) notReady() string {
	if s.draining.Load() {
		return "the server is stopping"
	}
	if s.parts.log != nil && s.parts.log.Ready() != nil {
		return "decisions cannot be logged"
	}
	return ""
}

// Ready reports whether requests should be sent here.
func (s *Server) Ready() bool { return s.notReady() == "" }

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
