package oip

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/models/policy"
	"pipe/onnx"
)

// caseTensor is a tensor of tools/serve/oip_case.py.
type caseTensor struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
	Data     any     `json:"data"`
}

// caseModel is a model of tools/serve/oip_case.py, with one request and its answer.
type caseModel struct {
	Name    string       `json:"name"`
	Inputs  []caseTensor `json:"inputs"`
	Outputs []caseTensor `json:"outputs"`
}

func outputsOf(d *policy.Decisions) []caseTensor {
	n, pairs := int64(len(d.Action)), int64(d.Actions)
	out := []caseTensor{
		{"action", "INT64", []int64{n}, d.Action},
		{"expert", "INT64", []int64{n}, d.Expert},
		{"advice", "INT64", []int64{n}, d.Advice},
		{"scores", "FP32", []int64{n, pairs}, d.Scores},
	}
	if d.Loss != nil {
		out = append(out, caseTensor{"expected_loss", "FP32", []int64{n, pairs}, d.Loss}, caseTensor{"expected_cost", "FP32", []int64{n, pairs}, d.Cost})
	}
	return out
}

// models are a request and its answer for each policy: fixed with enough rows that answers are compressed, any-price at
// other prices, and merged.
func (s *server) models(t testing.TB) []caseModel {
	x := numbers(5, 200)
	rows := caseTensor{"features", "FP32", []int64{200, dim}, x}
	at := &policy.Prices{Lambda: 1, Experts: []float64{0.3, 0.1, 0.2}, Advice: []float64{0, 0.01, 0.02}, Available: []bool{true, true, false, true, true, true, false, true, true}}
	any := caseModel{"any-price", []caseTensor{
		rows,
		{"expert_fees", "FP32", []int64{1, 3}, at.Experts},
		{"advice_fees", "FP32", []int64{1, 3}, at.Advice},
		{"pair_fees", "FP32", []int64{1, 9}, make([]float64, 9)},
		{"available", "BOOL", []int64{1, 9}, at.Available},
	}, outputsOf(s.expected(t, "any-price", at, x))}
	return []caseModel{
		{"fixed", []caseTensor{rows}, outputsOf(s.expected(t, "fixed", nil, x))},
		any,
		s.merged(t),
	}
}

// merged is a request of tokens, and the answer of ONNX Runtime itself.
func (s *server) merged(t testing.TB) caseModel {
	t.Helper()
	p, err := s.set.Acquire("merged")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	m := caseModel{Name: "merged"}
	given := map[string]*onnx.Tensor{}
	for _, in := range p.Graph().Inputs() {
		data := []int64{1, 2, 3, 4, 5, 6}
		if in.Name != "input_ids" {
			data = []int64{1, 1, 1, 1, 1, 1}
		}
		if in.Name == "token_type_ids" {
			clear(data)
		}
		given[in.Name] = onnx.Int64s([]int64{2, 3}, data)
		m.Inputs = append(m.Inputs, caseTensor{in.Name, "INT64", []int64{2, 3}, data})
	}
	for name, out := range runFile(t, filepath.Join(s.folder, "merged.onnx"), given) {
		o := caseTensor{name, datatypeOf(out.DType), out.Shape, nil}
		if out.DType == onnx.Int64 {
			o.Data = out.Int64s()
		} else {
			o.Data = out.Float32s()
		}
		m.Outputs = append(m.Outputs, o)
	}
	return m
}

// The clients of Triton get the answers of the files, bit for bit.
func TestClientsOfTriton(t *testing.T) {
	callBy(t, judge.Python(t, "tritonclient", "aiohttp", "geventhttpclient", "grpc"), "oip_triton.py")
}

// So do the clients of KServe. They are not installed with the pinned packages, because they bring many others.
func TestClientsOfKServe(t *testing.T) {
	python := os.Getenv("PIPE_KSERVE")
	if python == "" {
		t.Skip("PIPE_KSERVE does not name a Python with kserve: see tools/serve/oip_kserve.py")
	}
	callBy(t, python, "oip_kserve.py")
}

// callBy runs a script of tools/serve that calls a server and compares its answers.
func callBy(t *testing.T, python, script string) {
	t.Helper()
	s := start(t)
	file := filepath.Join(t.TempDir(), "case.json")
	b, err := json.Marshal(map[string]any{"http": strings.TrimPrefix(s.http, "http://"), "grpc": s.grpc, "models": s.models(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("..", "..", "tools", "serve", script), file).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	t.Logf("%s", out)
}

// grpcurl finds the calls by reflection, and gets an answer and errors in the form of gRPC.
func TestGrpcurl(t *testing.T) {
	program, err := exec.LookPath("grpcurl")
	if err != nil {
		t.Skip("needs grpcurl: go install github.com/fullstorydev/grpcurl/cmd/grpcurl@latest")
	}
	s := start(t)
	const service = "inference.GRPCInferenceService/"
	input := `{"model_name":"fixed","inputs":[{"name":"features","datatype":"FP32","shape":[1,%s],"contents":{"fp32_contents":[1,2,3,4,5,6]}}],"outputs":[{"name":"action"}]}`
	for _, c := range []struct{ request, method, words string }{
		{"", "list", "inference.GRPCInferenceService"},
		{"{}", service + "ServerReady", `"ready": true`},
		{`{"name":"any-price"}`, service + "ModelMetadata", "expert_fees"},
		{strings.Replace(input, "%s", "6", 1), service + "ModelInfer", "int64Contents"},
		{strings.Replace(input, "%s", "5", 1), service + "ModelInfer", "Code: InvalidArgument"},
		{`{"model_name":"none"}`, service + "ModelInfer", "Code: NotFound"},
		{"{}", "grpc.health.v1.Health/Check", "SERVING"},
	} {
		args := []string{"-plaintext"}
		if c.request != "" {
			args = append(args, "-d", c.request)
		}
		out, _ := exec.CommandContext(t.Context(), program, append(args, s.grpc, c.method)...).CombinedOutput() // an error has words too
		if !strings.Contains(string(out), c.words) {
			t.Errorf("%s %s: %s", c.method, c.request, out)
		}
	}
}
