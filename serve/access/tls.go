package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"pipe/internal/config"
)

// TLS names the files of a certificate. Without them, connections are not encrypted.
type TLS struct {
	Cert config.Path `yaml:"cert"` // certificates in PEM, that of the server first
	Key  config.Path `yaml:"key"`  // its private key in PEM
	// ClientCA has certificates in PEM. Clients must have a certificate that one of them has signed.
	ClientCA config.Path `yaml:"client_ca"`
}

// On reports whether connections are encrypted.
func (t TLS) On() bool { return t.Cert != "" }

// Validate lists every problem of the settings, without reading the files.
func (t TLS) Validate() error {
	var p config.Problems
	p.Check((t.Cert == "") == (t.Key == ""), "cert and key belong together")
	p.Check(t.ClientCA == "" || t.Cert != "", "client_ca needs cert and key")
	return p.Err()
}

// Certificates are the certificates of a server, which can be reloaded while connections are open.
type Certificates struct {
	files   TLS
	current atomic.Pointer[certificate]
	reloads sync.Mutex // held by Reload
}

// certificate is the content of the files.
type certificate struct {
	cert    tls.Certificate
	clients *x509.CertPool // nil: clients need no certificate
}

// LoadCertificates reads the files of a certificate.
func LoadCertificates(t TLS) (*Certificates, error) {
	c := &Certificates{files: t}
	return c, c.Reload()
}

// Reload reads the files again. After an error the old certificate stays in use.
func (c *Certificates) Reload() error {
	c.reloads.Lock()
	defer c.reloads.Unlock()
	var err error
	now := &certificate{}
	if now.cert, err = tls.LoadX509KeyPair(string(c.files.Cert), string(c.files.Key)); err != nil {
		err = fmt.Errorf("read the certificate %q with the key %q: %w", c.files.Cert, c.files.Key, err)
	}
	if err = errors.Join(err, now.readClients(string(c.files.ClientCA))); err == nil {
		c.current.Store(now)
	}
	return err
}

// readClients reads the certificate authorities of clients, if a file is named.
func (l *certificate) readClients(file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the certificates of clients: %w", err)
	}
	l.clients = x509.NewCertPool()
	if !l.clients.AppendCertsFromPEM(text) {
		return fmt.Errorf("read the certificates of clients %q: %w", file, errors.New("there is no certificate in PEM"))
	}
	return nil
}

// Config returns a configuration for listeners. New connections always use the certificate that was loaded last. The
// protocols are those of ALPN.
func (c *Certificates) Config(protocols ...string) *tls.Config {
	of := func(now *certificate) *tls.Config {
		t := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{now.cert}, NextProtos: protocols}
		if now.clients != nil {
			t.ClientAuth, t.ClientCAs = tls.RequireAndVerifyClientCert, now.clients
		}
		return t
	}
	t := of(c.current.Load())
	t.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return of(c.current.Load()), nil }
	return t
}

// Expires is when the certificate of the server expires.
func (c *Certificates) Expires() time.Time { return c.current.Load().cert.Leaf.NotAfter }
