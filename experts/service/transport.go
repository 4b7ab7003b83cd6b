package service

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"pipe/internal/textfile"
)

// maxHeader bounds the header of a response, in bytes.
const maxHeader = 1 << 20

// NewClient returns a client of one service, which keeps a number of
// connections open, follows no redirect, and reads no other protocol. It trusts the certificates in the
// file (PEM) in addition to those of the system; "" is none.
func NewClient(connections int, caFile string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = connections
	transport.MaxResponseHeaderBytes = maxHeader
	if caFile != "" {
		roots, err := readCertificates(caFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: Transport{transport}, CheckRedirect: stay}, nil
}

// Transport refuses responses that switch to another protocol: the end of a request's context does not end such a connection, so
// reading it could last for ever.
type Transport struct{ *http.Transport }

// RoundTrip is that of http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.Transport.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusSwitchingProtocols {
		_ = response.Body.Close() // nothing of it is read
		return nil, errSwitched
	}
	return response, err
}

var errSwitched = errors.New("the service answered with HTTP 101 and another protocol")

// stay stops redirects, so that neither the key nor a conversation goes to an
// address that the configuration does not name.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// readCertificates returns the certificates of the system and those of a PEM file.
func readCertificates(file string) (*x509.CertPool, error) {
	text, err := textfile.ReadFile(file, textfile.MaxConfig)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%q has no certificate in PEM form (-----BEGIN CERTIFICATE-----)", file)
	}
	return roots, nil
}

// CertificateHint is the advice for a failed TLS connection, "" for other
// errors. A retry after such an error is useless.
func CertificateHint(err error) string {
	var (
		unknown *tls.CertificateVerificationError
		issuer  x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &issuer):
		return "the certificate is self-signed, or from an authority that this machine does not trust: put that certificate into a PEM file and name the file with the setting ca_file"
	case errors.As(err, &name):
		return "the certificate is for another name: use that name in the URL"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired, is not valid yet, or this machine's clock is wrong"
	case errors.As(err, &unknown):
		return "the service needs another certificate"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the service does not use TLS: its URL begins with http://"
	}
	return ""
}

// WithoutURL removes the address from an error, since the message names it already.
func WithoutURL(err error) error {
	if named, ok := errors.AsType[*url.Error](err); ok {
		return named.Err
	}
	return err
}

// IsTruncated reports whether a text is truncated JSON, as opposed to no JSON;
// err is the error of decoding it.
func IsTruncated(text []byte, err error) bool {
	var syntax *json.SyntaxError
	begins := bytes.TrimSpace(text)
	return len(begins) == 0 || begins[0] == '{' && errors.As(err, &syntax) && syntax.Offset >= int64(len(text))
}
