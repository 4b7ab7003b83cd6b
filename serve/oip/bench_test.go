package oip

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"pipe/onnx"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/serve/decision"
	"pipe/serve/metrics"
	pb "pipe/serve/oip/inferencepb"
	"pipe/serve/policies"
)

// BenchmarkInfer is one request of 384 features without the network: body to answer.
func BenchmarkInfer(b *testing.B) {
	const width = 384
	folder := b.TempDir()
	write(b, folder, "router", decidetest.Policy(width, 64))
	settings := policies.DefaultSettings()
	settings.Paths, settings.Poll = []string{folder}, 0
	m := metrics.New(prometheus.NewRegistry())
	set, err := policies.Open(b.Context(), settings, orttest.Open(b, 1), m, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer set.Close()
	d, err := decision.New(set, nil, m, nil, decision.DefaultSettings())
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	a, err := New(Options{Policies: set, Decider: d, Metrics: m, Settings: DefaultSettings()})
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float32, width)
	for i, v := range numbers(1, width/dim) {
		x[i] = v
	}
	raw := onnx.Float32s([]int64{1, width}, x).Raw
	wide := make([]float64, width)
	for i, v := range x {
		wide[i] = float64(v) // as Python writes them
	}
	data, err := json.Marshal(wide)
	if err != nil {
		b.Fatal(err)
	}
	text := fmt.Appendf(nil, `{"inputs":[{"name":"features","shape":[1,%d],"datatype":"FP32","data":%s}]}`, width, data)
	head := fmt.Sprintf(`{"inputs":[{"name":"features","shape":[1,%d],"datatype":"FP32","parameters":{"binary_data_size":%d}}]}`, width, 4*width)
	mux := http.NewServeMux()
	a.Register(mux)
	rest := func(body []byte, header string) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", "/v2/models/router/infer", bytes.NewReader(body))
				if header != "" {
					r.Header.Set(headerLength, header)
				}
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		}
	}
	b.Run("JSON", rest(text, ""))
	b.Run("binary", rest(append([]byte(head), raw...), strconv.Itoa(len(head))))
	b.Run("gRPC", func(b *testing.B) {
		b.ReportAllocs()
		s := &rpc{api: a}
		for b.Loop() {
			_, err := s.ModelInfer(b.Context(), &pb.ModelInferRequest{
				ModelName: "router", Inputs: []*pb.ModelInferRequest_InferInputTensor{{Name: "features", Datatype: "FP32", Shape: []int64{1, width}}},
				RawInputContents: [][]byte{raw},
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("run", func(b *testing.B) { // the policy alone
		p, err := set.Acquire("router")
		if err != nil {
			b.Fatal(err)
		}
		defer p.Release()
		in := map[string]*onnx.Tensor{"features": {DType: onnx.Float32, Shape: []int64{1, width}, Raw: raw}}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Graph().Run(b.Context(), in); err != nil {
				b.Fatal(err)
			}
		}
	})
}
