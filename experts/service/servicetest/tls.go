package servicetest

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// TLS starts a server over TLS with a self-signed certificate, which it writes into
// the PEM file that it returns. protocol returns that of the last request, such as
// HTTP/2.0.
func TLS(t testing.TB, http2 bool, answer http.HandlerFunc) (server *httptest.Server, certificate string, protocol func() string) {
	t.Helper()
	var last atomic.Value
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last.Store(r.Proto)
		answer(w, r)
	}))
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not know the certificate hang up
	server.StartTLS()
	t.Cleanup(server.Close)
	certificate = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(certificate, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return server, certificate, func() string { s, _ := last.Load().(string); return s }
}
