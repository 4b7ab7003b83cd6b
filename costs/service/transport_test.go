package service

import (
	"crypto/x509"
	"encoding/pem"
	"math/big"
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
