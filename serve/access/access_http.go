package access

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Wrap serves only requests with a valid key. It answers others with 401, and requests above a limit with 429 and
// Retry-After. Health checks, and the routes of Settings.Open, need no key. The caller is in the context of the request.
func (a *Access) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.isOpen(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		c, err := a.Admit(keyOf(r.Header))
		if err != nil {
			WriteRefusal(w, r, asRefusal(err))
			return
		}
		next.ServeHTTP(w, r.WithContext(With(r.Context(), c)))
	})
}

// isOpen reports whether a path needs no key.
func (a *Access) isOpen(path string) bool {
	if isHealthPath(path) {
		return true
	}
	switch path {
	case "/metrics":
		return a.open["metrics"]
	case "/openapi.json":
		return a.open["openapi"]
	case "/page/page.css", "/page/page.js", "/people/page.css", "/people/page.js": // they contain no secrets, and a browser does not send them a password from the address
		return true
	case "/":
		return a.open["page"]
	}
	return a.open["page"] && strings.HasPrefix(path, "/page/") && path != "/page/try"
}

// isHealthPath reports whether a path is a health check.
func isHealthPath(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/v2/health/live", "/v2/health/ready":
		return true
	}
	return false
}

// keyOf returns the key of a request, "" without one. A browser sends it as the password of the page.
func keyOf(h http.Header) string {
	if key, ok := bearerKey(h.Get("Authorization")); ok {
		return key
	}
	if _, password, ok := (&http.Request{Header: h}).BasicAuth(); ok {
		return password
	}
	return h.Get("X-Api-Key")
}

// bearerKey returns the key in the value of Authorization; ok is false for another scheme.
func bearerKey(authorization string) (key string, ok bool) {
	scheme, key, ok := strings.Cut(authorization, " ")
	return strings.TrimSpace(key), ok && strings.EqualFold(scheme, "Bearer")
}

// WriteRefusal answers a refused request.
func WriteRefusal(w http.ResponseWriter, r *http.Request, why *Refusal) {
	code, kind := http.StatusTooManyRequests, "rate_limit_error"
	switch why.Reason {
	case "key":
		code, kind = http.StatusUnauthorized, "authentication_error"
		w.Header().Add("WWW-Authenticate", `Bearer realm="pipe"`)
		if strings.Contains(r.Header.Get("Accept"), "text/html") { // the browser then asks for the password
			w.Header().Add("WWW-Authenticate", `Basic realm="pipe: the password is your key"`)
		}
	case "admin":
		code, kind = http.StatusForbidden, "permission_error"
	case "tokens", "money":
		kind = "insufficient_quota"
	}
	if code == http.StatusTooManyRequests {
		SetRetryAfter(w.Header(), why.Wait)
	}
	WriteError(w, r, code, kind, why.Reason, why.Error())
}

// SetRetryAfter sets the header Retry-After: whole seconds, at least one.
func SetRetryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(max(wait.Seconds(), 1)))))
}

// anthropicTypes are the types of errors under /v1/messages by their status.
var anthropicTypes = map[int]string{
	http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
}

// anthropicError is the body of an error as Anthropic's protocol has it.
func anthropicError(status int, message string) any {
	kind := anthropicTypes[status]
	switch {
	case kind == "" && status >= http.StatusInternalServerError:
		kind = "api_error"
	case kind == "":
		kind = "invalid_request_error"
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
}

// WriteError answers a request with an error in the format of its protocol: {"error": "..."} under /v2, that of Anthropic's
// API under /v1/messages, and elsewhere that of OpenAI's API, {"error": {"message", "type", "param", "code"}}.
func WriteError(w http.ResponseWriter, r *http.Request, status int, kind, code, message string) {
	var body any
	switch path := r.URL.Path; {
	case path == "/v2" || strings.HasPrefix(path, "/v2/"):
		body = map[string]string{"error": message}
	case path == "/v1/messages" || strings.HasPrefix(path, "/v1/messages/"):
		body = anthropicError(status, message)
	default:
		body = map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": code}}
	}
	text, err := json.Marshal(body)
	if err != nil { // strings always marshal
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}
