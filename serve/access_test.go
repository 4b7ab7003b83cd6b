package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"pipe/internal/config"
	"pipe/onnx/ort/orttest"
	"pipe/serve/access"
	"pipe/serve/gateway/expert"
	"pipe/serve/oip/inferencepb"
)

const (
	testKey, adminKey = "caller-5f2b8c1d9e7a4036", "operator-81c0d2e4f6a8b9c7"
	expertKey         = "expert-77aa12bb34cc56dd"
)

func withKeys(c *Config) {
	c.Access.Keys = []access.Key{{Name: "web", Key: testKey, Rate: 1000, Tokens: 100}, {Name: "ops", Key: adminKey, Admin: true}}
}

// TestKeysAreNeeded checks which routes need a key, which a key of operators, and that gRPC has the same rules.
func TestKeysAreNeeded(t *testing.T) {
	r := start(t, withKeys, nil)
	for _, c := range []struct {
		method, path, key string
		code              int
	}{
		{"GET", "/healthz", "", 200},
		{"GET", "/readyz", "", 200},
		{"GET", "/v2/health/ready", "", 200},
		{"GET", "/metrics", "", 401},
		{"GET", "/", "", 401},
		{"GET", "/v1/policies", "", 401},
		{"GET", "/v2/models/x", "", 401},
		{"GET", "/nothing", "", 401},
		{"GET", "/v1/policies", testKey, 200},
		{"GET", "/", testKey, 200},
		{"GET", "/metrics", testKey, 200},
		{"POST", "/v1/policies/reload", testKey, 403},
		{"POST", "/v1/policies/reload", adminKey, 200},
	} {
		if code, _, body := r.do(t, c.method, c.path, "", "Authorization", "Bearer "+c.key); code != c.code {
			t.Errorf("%s %s with %q: %d %s", c.method, c.path, c.key, code, body)
		}
	}
	client := dial(t, r.Addresses().GRPC)
	if _, err := client.ServerReady(t.Context(), &inferencepb.ServerReadyRequest{}); err != nil {
		t.Error(err)
	}
	ask := func(key ...string) error {
		_, err := client.ServerMetadata(metadata.AppendToOutgoingContext(t.Context(), key...), &inferencepb.ServerMetadataRequest{})
		return err
	}
	if err := ask(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("gRPC without a key: %v", err)
	}
	if err := ask("authorization", "Bearer "+testKey+"x"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("gRPC with a wrong key: %v", err)
	}
	if err := ask("authorization", "Bearer "+testKey); err != nil {
		t.Errorf("gRPC with a key: %v", err)
	}
	if err := ask("x-api-key", testKey); err != nil {
		t.Errorf("gRPC with x-api-key: %v", err)
	}
	r.access.Callers()[0].Charge(100, 0)
	if err := ask("x-api-key", testKey); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("gRPC above a limit: %v", err)
	}
}

// TestOpenToAll checks that a server which everybody can reach without a key is not changed by everybody.
func TestOpenToAll(t *testing.T) {
	r := start(t, func(c *Config) { c.Listen, c.WithoutKeys, c.Stop.Notice = "0.0.0.0:0", true, new(time.Duration(0)) }, nil)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://127.0.0.1:" + port
	if code, _, body := r.do(t, "GET", "/v1/policies", ""); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	if code, _, body := r.do(t, "POST", "/v1/policies/reload", ""); code != 403 {
		t.Errorf("%d %s", code, body)
	}
}

// TestHealthOverGRPC checks gRPC's own health service, which needs no key.
func TestHealthOverGRPC(t *testing.T) {
	r := start(t, func(c *Config) { withKeys(c); c.Stop.Notice = new(time.Second) }, nil)
	c, err := grpc.NewClient(strings.TrimPrefix(r.Addresses().GRPC, "grpc://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	state := func() healthpb.HealthCheckResponse_ServingStatus {
		answer, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetStatus()
	}
	if got := state(); got != healthpb.HealthCheckResponse_SERVING {
		t.Error(got)
	}
	r.stop()
	waitFor(t, func() bool { return state() == healthpb.HealthCheckResponse_NOT_SERVING })
}

// dial connects to gRPC without TLS.
func dial(t *testing.T, address string) inferencepb.GRPCInferenceServiceClient {
	t.Helper()
	c, err := grpc.NewClient(strings.TrimPrefix(address, "grpc://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return inferencepb.NewGRPCInferenceServiceClient(c)
}

// TestSecretsAreNowhere plants the keys of callers in every place that a client can write to, and that of an expert in every
// place that its service can, and searches everything that the server says for them.
func TestSecretsAreNowhere(t *testing.T) {
	log := t.TempDir()
	t.Setenv("PIPE_TEST_EXPERT_KEY", expertKey)
	leaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("Authorization"); key != "Bearer "+expertKey {
			t.Errorf("the expert got %q", key)
		}
		w.Header().Set("X-Error", expertKey)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"wrong key ` + expertKey + `","type":"` + expertKey + `"}}`))
	}))
	t.Cleanup(leaky.Close)
	r := start(t, func(c *Config) {
		withKeys(c)
		c.Logs = Logs{Level: "debug", Requests: "all"}
		c.Log.Folder = config.Path(log)
		c.Gateway.Experts = map[string]expert.Settings{}
		for _, name := range []string{"spy", "small", "large"} {
			s := expert.DefaultSettings()
			s.BaseURL, s.Model, s.Key = leaky.URL, "m", "PIPE_TEST_EXPERT_KEY"
			c.Gateway.Experts[name] = s
		}
	}, func(mux *http.ServeMux) {
		mux.HandleFunc("GET /leak", func(http.ResponseWriter, *http.Request) { panic("a library says " + testKey) })
	})
	var said strings.Builder
	for _, path := range []string{
		"/v1/policies", "/" + adminKey, "/v2/models/" + adminKey, "/v1/policies?key=" + adminKey, "/leak", "/", "/page/state", "/metrics", "/v1/monitor", "/openapi.json",
	} {
		for _, h := range [][]string{
			{"Authorization", "Bearer " + testKey},
			{"x-api-key", testKey, "X-Request-Id", "r"},
			{"Authorization", "Bearer x" + adminKey},
			{"Authorization", adminKey},
			{"x-api-key", testKey, "traceparent", adminKey, "User-Agent", adminKey, "Cookie", adminKey},
		} {
			_, _, body := r.do(t, "GET", path, "", h...)
			if strings.Contains(path, adminKey) { // a client may be shown what it sent
				body = strings.ReplaceAll(body, adminKey, "")
			}
			said.WriteString(body)
		}
	}
	for _, body := range []string{`{"features":[[1,2,3,4]]}`, `{"features":[[1,2]]}`, `{"features":"x"}`} {
		_, _, answer := r.do(t, "POST", "/v1/decide", body, "Content-Type", "application/json", "x-api-key", testKey)
		said.WriteString(answer)
	}
	for _, model := range []string{"spy", "pipe", expertKey[:6]} {
		body := `{"model":"` + model + `","messages":[{"role":"user","content":"hello"}]}`
		_, head, answer := r.do(t, "POST", "/v1/chat/completions", body, "Content-Type", "application/json", "x-api-key", testKey)
		said.WriteString(answer + fmt.Sprint(head))
	}
	if !strings.Contains(said.String(), "wrong key") && !strings.Contains(r.log.String(), "wrong key") {
		t.Log("the expert's message is not shown at all")
	}
	report := Check(t.Context(), r.config, Options{Runtime: orttest.OneThread(t)})
	if err := report.WriteText(&said); err != nil {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "web: 1000 requests per second") {
		t.Errorf("--check does not describe the keys: %+v", report)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	said.WriteString(r.log.String())
	files, err := filepath.Glob(filepath.Join(log, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no decision log: ", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		said.Write(text)
	}
	if !strings.Contains(r.log.String(), "a library says [key]") {
		t.Error("the planted panic is not in the log")
	}
	for _, key := range []string{testKey, adminKey, expertKey} {
		if at := strings.Index(said.String(), key); at >= 0 {
			t.Errorf("a key is shown: ...%s...", said.String()[max(0, at-200):min(said.Len(), at+200)])
		}
	}
}

// certificate writes a certificate for 127.0.0.1 with a serial number, signed by itself, and returns its PEM.
func certificate(t *testing.T, folder string, serial int64) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"cert.pem": cert, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert
}

// TestTLS checks that connections are encrypted, that a reload takes a new certificate and keeps the old one where the new
// one is broken, and that plain HTTP is refused.
func TestTLS(t *testing.T) {
	folder := t.TempDir()
	first := certificate(t, folder, 1)
	r := start(t, func(c *Config) {
		c.TLS = access.TLS{Cert: config.Path(filepath.Join(folder, "cert.pem")), Key: config.Path(filepath.Join(folder, "key.pem"))}
	}, nil)
	serial := func(trusted ...[]byte) int64 {
		pool := x509.NewCertPool()
		for _, c := range trusted {
			pool.AppendCertsFromPEM(c)
		}
		d := tls.Dialer{Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(r.url, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		state := c.(*tls.Conn).ConnectionState()
		if state.NegotiatedProtocol != "h2" {
			t.Errorf("the protocol is %q", state.NegotiatedProtocol)
		}
		return state.PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(first); got != 1 || !strings.HasPrefix(r.Addresses().GRPC, "grpcs://") {
		t.Errorf("serial %d, %+v", got, r.Addresses())
	}
	second := certificate(t, folder, 2)
	if got := serial(first); got != 1 {
		t.Errorf("serial %d before the reload", got)
	}
	r.Reload(t.Context())
	if got := serial(second); got != 2 {
		t.Errorf("serial %d after the reload", got)
	}
	if err := os.WriteFile(filepath.Join(folder, "cert.pem"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := false
	for _, c := range r.Reload(t.Context()) {
		refused = refused || c.Kind == "certificate" && c.What == "refused"
	}
	if got := serial(second); got != 2 || !refused {
		t.Errorf("serial %d after a broken reload; refused %v", got, refused)
	}
	answer, err := http.Get("http" + strings.TrimPrefix(r.url, "https") + "/healthz")
	if err == nil {
		_ = answer.Body.Close()
		if answer.StatusCode == 200 {
			t.Error("plain HTTP is answered")
		}
	}
}

// TestWriteTime checks that the limit of write_time is one of a client that takes nothing, not one of a handler that waits,
// over HTTP/1.1 and HTTP/2.
func TestWriteTime(t *testing.T) {
	folder := t.TempDir()
	pool, blocked := x509.NewCertPool(), make(chan error, 1)
	pool.AppendCertsFromPEM(certificate(t, folder, 1))
	r := start(t, func(c *Config) {
		c.TLS = access.TLS{Cert: config.Path(filepath.Join(folder, "cert.pem")), Key: config.Path(filepath.Join(folder, "key.pem"))}
		c.Limits.WriteTime = 150 * time.Millisecond
	}, func(mux *http.ServeMux) {
		mux.HandleFunc("GET /slow", func(w http.ResponseWriter, _ *http.Request) {
			for range 2 {
				time.Sleep(300 * time.Millisecond)
				_, _ = io.WriteString(w, "slow ")
				_ = http.NewResponseController(w).Flush()
			}
			time.Sleep(300 * time.Millisecond)
			_, _ = io.WriteString(w, "end")
		})
		mux.HandleFunc("GET /much", func(w http.ResponseWriter, _ *http.Request) {
			var err error
			for piece := make([]byte, 1<<20); err == nil; {
				_, err = w.Write(piece)
			}
			blocked <- err
		})
	})
	for _, two := range []bool{false, true} {
		transport := &http.Transport{ForceAttemptHTTP2: two, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
		client := &http.Client{Transport: transport}
		answer, err := client.Get(r.url + "/slow")
		if err != nil {
			t.Fatalf("HTTP/2 %v: %v", two, err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || string(text) != "slow slow end" || (answer.ProtoMajor == 2) != two {
			t.Errorf("%s: %q, %v", answer.Proto, text, err)
		}
		answer, err = client.Get(r.url + "/much")
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-blocked:
		case <-time.After(10 * time.Second):
			t.Errorf("%s: a client that reads nothing is waited for", answer.Proto)
		}
		_ = answer.Body.Close()
		transport.CloseIdleConnections()
	}
}
