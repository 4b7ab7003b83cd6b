package chat

import (
	"fmt"
	"net/http"

	"pipe/experts/service"
)

// fault is an error of this service.
func (e *endpoint) fault(status int, format string, args ...any) *service.Error {
	return &service.Error{URL: e.url, Status: status, Reason: fmt.Sprintf(format, args...)}
}

// refused returns the error of a response with an error status.
func (e *endpoint) refused(r *http.Response, key service.Secret, text []byte) error {
	code := r.StatusCode
	fault := e.fault(code, "%s", key.Excerpt(text))
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if e.cfg.Key == "" {
			return fault.Advise("the service requires a key: put it into an environment variable and name that with the setting key")
		}
		return fault.Advise("the service does not accept the key in the environment variable " + e.cfg.Key)
	case code == http.StatusNotFound:
		return fault.Advise("check base_url, which must end before /chat/completions, and whether the service has the model")
	case code >= 300 && code < 400:
		return fault.Advise("the service redirects to another address, and redirects are not followed: set base_url to that address")
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code == http.StatusTooManyRequests, code >= 500:
		return fault.Later(r.Header)
	}
	return fault.Advise("check model, max_tokens, temperature and extra against what the service accepts")
}
