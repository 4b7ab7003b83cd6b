package service

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzCertificates: a file of certificates gives some, or an error that names it.
func FuzzCertificates(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"))
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: (&x509.Certificate{SerialNumber: big.NewInt(1)}).Raw}))
	f.Add([]byte("text"))
	file := filepath.Join(f.TempDir(), "ca.pem")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		pool, err := readCertificates(file)
		if (pool == nil) != (err != nil) || err != nil && !strings.Contains(err.Error(), file) {
			t.Fatalf("%v, %v", pool, err)
		}
	})
}

// A service that switches to another protocol is left at once: the end of a request would not end the connection.
func TestOtherProtocols(t *testing.T) {
	left := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = c.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
		_, _ = c.Read(make([]byte, 1)) // until the client closes
		c.Close()
		close(left)
	}))
	defer s.Close()
	client, err := NewClient(1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	r, err := client.Get(s.URL) //nolint:noctx // nothing may depend on it
	if !errors.Is(err, errSwitched) {
		t.Errorf("%v, %v", r, err)
	}
	<-left
}
