package oip

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/convert"
	"pipe/pipeline/decide/decidetest"
	pb "pipe/serve/oip/inferencepb"
	"pipe/serve/policies"
)

const dim = 6

// server is an API on loopback over REST and gRPC.
type server struct {
	folder string
	http   string // URL
	grpc   string // address
	rpc    pb.GRPCInferenceServiceClient
	api    *API
	set    *policies.Set
}

// start starts a server of three policies: fixed and any-price of features, and merged, which takes tokens.
func start(t testing.TB, change ...func(*Options)) *server {
	t.Helper()
	s := &server{folder: t.TempDir()}
	write(t, s.folder, "fixed", decidetest.Policy(dim, 4))
	write(t, s.folder, "any-price", decidetest.AnyPrice(dim))
	merge(t, s.folder, "merged")
	o := policies.DefaultSettings()
	o.Paths, o.Workers, o.Poll = []string{s.folder}, 2, 0
	var err error
	if s.set, err = policies.Open(t.Context(), o, orttest.Open(t, 1), nil, nil); err != nil {
		t.Fatal(err)
	}
	options := Options{Policies: s.set, Settings: DefaultSettings(), Version: "test"}
	for _, f := range change {
		f(&options)
	}
	if s.api, err = New(options); err != nil {
		t.Fatal(err)
	}
	s.listen(t, options.Settings)
	return s
}

func (s *server) listen(t testing.TB, settings Settings) {
	mux := http.NewServeMux()
	s.api.Register(mux)
	web := httptest.NewServer(mux)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls := grpc.NewServer(grpc.MaxRecvMsgSize(int(settings.MaxBody)))
	s.api.RegisterGRPC(calls)
	reflection.Register(calls)
	done := make(chan error, 1)
	go func() { done <- calls.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	s.http, s.grpc, s.rpc = web.URL, l.Addr().String(), pb.NewGRPCInferenceServiceClient(conn)
	t.Cleanup(func() {
		conn.Close()
		calls.Stop()
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
			t.Error(err)
		}
		web.Close()
		if err := s.set.Close(); err != nil {
			t.Error(err)
		}
	})
}

// write writes a policy file into a folder.
func write(t testing.TB, folder, name string, p *policy.Policy) string {
	t.Helper()
	path := filepath.Join(folder, name+".onnx")
	if err := os.Rename(decidetest.WritePolicy(t, p), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// merge writes a policy behind a tiny encoder of texts.
func merge(t testing.TB, folder, name string) {
	t.Helper()
	model := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(model, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := hftest.WriteBERT(model); err != nil {
		t.Fatal(err)
	}
	router := decidetest.EncoderPolicy(t, t.TempDir(), hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, "")
	o := convert.DefaultOptions()
	o.Model, o.Merge, o.Out = model, storage.File(router), storage.File(filepath.Join(folder, name+".onnx"))
	if _, err := convert.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// numbers are features of n rows.
func numbers(seed uint64, n int) []float32 {
	r, x := rand.New(rand.NewPCG(seed, 1)), make([]float32, n*dim)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// expected are the decisions of the policy file itself.
func (s *server) expected(t testing.TB, name string, at *policy.Prices, x []float32) *policy.Decisions {
	t.Helper()
	d, err := policy.Open(orttest.Open(t, 1), filepath.Join(s.folder, name+".onnx"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var out *policy.Decisions
	if at == nil {
		out, err = d.Decide(t.Context(), x, len(x)/dim)
	} else {
		out, err = d.DecideAt(t.Context(), at, x, len(x)/dim)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// reply is an answer over REST.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request over REST.
func (s *server) send(t testing.TB, method, path string, body []byte, header map[string]string) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.http+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{w.StatusCode, w.Header, b}
}

// restReply is the JSON of an answer over REST.
type restReply struct {
	Model   string `json:"model_name"`
	Version string `json:"model_version"`
	ID      string `json:"id"`
	Outputs []struct {
		Name, Datatype string
		Shape          []int64
		Data           []json.Number
		Parameters     map[string]int
	} `json:"outputs"`
	Error string `json:"error"`
}

func (r reply) decode(t testing.TB) restReply {
	t.Helper()
	var out restReply
	if err := json.Unmarshal(r.body, &out); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return out
}

// runFile runs a model file in a separate session.
func runFile(t testing.TB, path string, inputs map[string]*onnx.Tensor) map[string]*onnx.Tensor {
	t.Helper()
	rt := orttest.Open(t, 1)
	session, err := rt.SessionFile(path, rt.SessionOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	out, err := session.Run(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
