package access

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"pipe/serve/metrics"
)

// IsLoopback reports whether a listening address can be reached only from this machine.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	return isLocal(host)
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// SameSite refuses requests that a page of another site makes a browser send and that change something. With localOnly it
// also refuses requests for a host name that is not this machine. Otherwise a page could reach this server from a browser
// on this machine, by a name that resolves to a loopback address (DNS rebinding).
func SameSite(localOnly bool, m *metrics.Metrics, next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if localOnly && !isLocal(hostOf(r)) {
			m.Refused("host")
			WriteError(w, r, http.StatusForbidden, "invalid_request_error", "host",
				"without keys, this server answers only requests for localhost or a loopback address")
			return
		}
		if err := origin.Check(r); err != nil {
			m.Refused("origin")
			WriteError(w, r, http.StatusForbidden, "invalid_request_error", "origin", "a page of another site may not send this request")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostOf returns the host of a request without the port.
func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return r.Host
}
