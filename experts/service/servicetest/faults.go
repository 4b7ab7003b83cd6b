// Package servicetest has what tests of HTTP services share: faults of a
// server, a server with a self-signed certificate, and a key with the spellings
// in which a service may return it. It imports no other package of this module.
package servicetest

import (
	"fmt"
	"io"
	"net/http"
)

// Once lets a fault happen to the first request only. It is called with the
// number of requests before this one, and reports whether it has handled the
// request.
func Once(fault http.HandlerFunc) func(n int, w http.ResponseWriter, r *http.Request) bool {
	return func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 0 {
			fault(w, r)
		}
		return n == 0
	}
}

// Status answers with a code and headers, given as name, value, and with the
// request's Authorization in the body.
func Status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":{"message":"no: %s"}}`, r.Header.Get("Authorization"))
	}
}

// Cut sends text, which may be a part of a response, and closes the connection.
func Cut(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(c, text)
		c.Close()
	}
}

// Body answers with a string and the status 200.
func Body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}
