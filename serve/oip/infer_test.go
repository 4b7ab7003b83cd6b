package oip

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pipe/models/policy"
	"pipe/onnx"
	pb "pipe/serve/oip/inferencepb"
)

// table is a body of features in JSON.
func table(x []float32, more string) []byte {
	var list []string
	for i := 0; i < len(x); i += dim {
		b, _ := json.Marshal(x[i : i+dim])
		list = append(list, string(b))
	}
	return fmt.Appendf(nil, `{"inputs":[{"name":"features","shape":[%d,%d],"datatype":"FP32","data":[%s]}]%s}`, len(x)/dim, dim, strings.Join(list, ","), more)
}

// float32s are the elements of an output in JSON, read as float64 and rounded, as numpy does.
func float32s(t testing.TB, list []json.Number) []float32 {
	out := make([]float32, len(list))
	for i, n := range list {
		v, err := n.Float64()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = float32(v)
	}
	return out
}

func int64s(t testing.TB, list []json.Number) []int64 {
	out := make([]int64, len(list))
	for i, n := range list {
		v, err := n.Int64()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = v
	}
	return out
}

// The answers over every transport are those of the policy file, bit for bit, row by row and together.
func TestAnswersAreThoseOfTheFile(t *testing.T) {
	s := start(t)
	x := numbers(1, 7)
	want := s.expected(t, "fixed", nil, x)
	check := func(t *testing.T, first, n int, action []int64, scores []float32) {
		t.Helper()
		if !reflect.DeepEqual(action, want.Action[first:first+n]) || !reflect.DeepEqual(scores, want.Scores[9*first:9*(first+n)]) {
			t.Errorf("rows %d to %d: actions %v, scores %v", first, first+n, action, scores)
		}
	}
	for _, part := range [][2]int{{0, 7}, {0, 1}, {3, 2}} {
		first, n := part[0], part[1]
		rows := x[first*dim : (first+n)*dim]
		r := s.send(t, "POST", "/v2/models/fixed/infer", table(rows, `,"id":"a\"b"`), nil)
		out := r.decode(t)
		if r.status != 200 || out.ID != `a"b` || out.Model != "fixed" || len(out.Version) != 64 || len(out.Outputs) != 4 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		check(t, first, n, int64s(t, out.Outputs[0].Data), float32s(t, out.Outputs[3].Data))

		raw := onnx.Float32s([]int64{int64(n), dim}, rows).Raw
		answer, err := s.rpc.ModelInfer(t.Context(), &pb.ModelInferRequest{
			ModelName: "fixed", ModelVersion: out.Version[:12], Id: "x",
			Inputs:           []*pb.ModelInferRequest_InferInputTensor{{Name: "features", Datatype: "FP32", Shape: []int64{int64(n), dim}}},
			Outputs:          []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "scores"}, {Name: "action"}},
			RawInputContents: [][]byte{raw},
		})
		if err != nil || answer.Id != "x" || len(answer.RawOutputContents) != 2 || answer.Outputs[0].Name != "scores" {
			t.Fatal(answer, err)
		}
		check(t, first, n, ints(answer.RawOutputContents[1]), floats(answer.RawOutputContents[0]))

		answer, err = s.rpc.ModelInfer(t.Context(), &pb.ModelInferRequest{
			ModelName: "fixed", ModelVersion: "1",
			Inputs: []*pb.ModelInferRequest_InferInputTensor{{
				Name: "features", Datatype: "FP32", Shape: []int64{int64(n), dim}, Contents: &pb.InferTensorContents{Fp32Contents: rows},
			}},
		})
		if err != nil || len(answer.Outputs) != 4 || len(answer.RawOutputContents) != 0 {
			t.Fatal(answer, err)
		}
		check(t, first, n, answer.Outputs[0].Contents.Int64Contents, answer.Outputs[3].Contents.Fp32Contents)
	}
}

func floats(b []byte) []float32 { return (&onnx.Tensor{DType: onnx.Float32, Raw: b}).Float32s() }
func ints(b []byte) []int64     { return (&onnx.Tensor{DType: onnx.Int64, Raw: b}).Int64s() }

// Binary tensors in both directions, mixed with JSON, in the order of the outputs that were asked for.
func TestBinaryTensors(t *testing.T) {
	s := start(t)
	x := numbers(2, 3)
	want := s.expected(t, "fixed", nil, x)
	header := `{"inputs":[{"name":"features","shape":[3,6],"datatype":"FP32","parameters":{"binary_data_size":72}}],
		"outputs":[{"name":"scores","parameters":{"binary_data":true}},{"name":"expert"},{"name":"action","parameters":{"binary_data":true}}]}`
	body := append([]byte(header), onnx.Float32s([]int64{3, 6}, x).Raw...)
	r := s.send(t, "POST", "/v2/models/fixed/versions/1/infer", body, map[string]string{headerLength: strconv.Itoa(len(header))})
	length, err := strconv.Atoi(r.header.Get(headerLength))
	if r.status != 200 || err != nil || r.header.Get("Content-Type") != "application/octet-stream" {
		t.Fatalf("%d %v %q", r.status, r.header, r.body)
	}
	out := reply{body: r.body[:length]}.decode(t)
	if o := out.Outputs; o[0].Name != "scores" || o[0].Parameters["binary_data_size"] != 108 || o[1].Name != "expert" || o[1].Parameters != nil || o[2].Parameters["binary_data_size"] != 24 {
		t.Fatalf("%s", r.body[:length])
	}
	rest := r.body[length:]
	if !reflect.DeepEqual(floats(rest[:108]), want.Scores) || !reflect.DeepEqual(ints(rest[108:]), want.Action) || !reflect.DeepEqual(int64s(t, out.Outputs[1].Data), want.Expert) {
		t.Errorf("%q", r.body)
	}
	// without outputs, all are binary if the request says so
	header = strings.Replace(header[:strings.Index(header, `,
		"outputs"`)], `}}]`, `}}],"parameters":{"binary_data_output":true}}`, 1)
	r = s.send(t, "POST", "/v2/models/fixed/infer", append([]byte(header), body[len(body)-72:]...), map[string]string{headerLength: strconv.Itoa(len(header))})
	if length, err = strconv.Atoi(r.header.Get(headerLength)); r.status != 200 || err != nil || len(r.body)-length != 3*(8+8+8+36) {
		t.Errorf("%d %q", r.status, r.body)
	}
}

// Prices and masks are tensors: one row for all, or one for each row; what is left out is as the file says.
func TestPricesAreTensors(t *testing.T) {
	s := start(t)
	x := numbers(3, 4)
	free := &policy.Prices{Lambda: 1, Experts: []float64{0.1, 0.3, 0}, Advice: []float64{0, 0.05, 0.5}, Available: []bool{true, true, false, true, true, true, false, true, true}}
	want := s.expected(t, "any-price", free, x)
	b, err := json.Marshal(free.Available)
	if err != nil {
		t.Fatal(err)
	}
	prices := `{"name":"expert_fees","shape":[1,3],"datatype":"FP32","data":[0.1,0.3,0]},{"name":"advice_fees","shape":[1,3],"datatype":"FP32","data":[0,0.05,0.5]},
		{"name":"pair_fees","shape":[1,9],"datatype":"FP32","data":[0,0,0,0,0,0,0,0,0]},{"name":"available","shape":[1,9],"datatype":"BOOL","data":[` + string(b) + `]}`
	body := strings.Replace(string(table(x, "")), `"inputs":[`, `"inputs":[`+prices+",", 1)
	r := s.send(t, "POST", "/v2/models/any-price/infer", []byte(body), nil)
	out := r.decode(t)
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	got := map[string][]json.Number{}
	for _, o := range out.Outputs {
		got[o.Name] = o.Data
	}
	if !reflect.DeepEqual(int64s(t, got["action"]), want.Action) || !reflect.DeepEqual(float32s(t, got["expected_cost"]), want.Cost) || !reflect.DeepEqual(float32s(t, got["scores"]), want.Scores) {
		t.Errorf("%s", r.body)
	}
	base := s.expected(t, "any-price", nil, x)
	r = s.send(t, "POST", "/v2/models/any-price/infer", table(x, ""), nil)
	if out = r.decode(t); r.status != 200 || !reflect.DeepEqual(int64s(t, out.Outputs[0].Data), base.Action) {
		t.Errorf("%d %s", r.status, r.body)
	}
	for name, bad := range map[string]string{
		"nothing to choose": `{"name":"available","shape":[1,9],"datatype":"BOOL","data":[false,false,false,false,false,false,false,false,false]}`,
		"advice 0 costs":    `{"name":"advice_fees","shape":[1,3],"datatype":"FP32","data":[1,0.05,0.5]}`,
		"rows":              `{"name":"advice_fees","shape":[2,3],"datatype":"FP32","data":[0,0.05,0.5,0,0,0]}`,
	} {
		r := s.send(t, "POST", "/v2/models/any-price/infer", []byte(strings.Replace(string(table(x, "")), `"inputs":[`, `"inputs":[`+bad+",", 1)), nil)
		if r.status != 400 || r.decode(t).Error == "" {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
}

// A merged file takes what its encoder takes.
func TestMergedFile(t *testing.T) {
	s := start(t)
	about := s.send(t, "GET", "/v2/models/merged", nil, nil)
	var m struct{ Inputs, Outputs []restTensor }
	if err := json.Unmarshal(about.body, &m); err != nil || len(m.Inputs) < 2 || m.Inputs[0].Datatype != "INT64" {
		t.Fatalf("%v %s", err, about.body)
	}
	var inputs []string
	for _, in := range m.Inputs {
		data := "[[1,1,1],[1,1,0]]"
		if in.Name == "token_type_ids" {
			data = "[0,0,0,0,0,0]"
		}
		inputs = append(inputs, fmt.Sprintf(`{"name":%q,"datatype":"INT64","shape":[2,3],"data":%s}`, in.Name, data))
	}
	r := s.send(t, "POST", "/v2/models/merged/infer", []byte(`{"inputs":[`+strings.Join(inputs, ",")+`]}`), nil)
	if out := r.decode(t); r.status != 200 || len(out.Outputs) < 4 || out.Outputs[0].Shape[0] != 2 {
		t.Errorf("%d %s", r.status, r.body)
	}
	r = s.send(t, "POST", "/v2/models/merged/infer", []byte(`{"inputs":[`+strings.Join(inputs[1:], ",")+`]}`), nil)
	if r.status != 400 || !strings.Contains(r.decode(t).Error, "missing") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A number in JSON is the same number again, however its reader rounds.
func TestFloatsInJSON(t *testing.T) {
	for _, v := range []float32{0, 1, -1e30, 0.1, 1.0 / 3, math.MaxFloat32, math.SmallestNonzeroFloat32, 16777217, 8.589973e9, 7.038531e-26} {
		b, err := appendFloat32(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		wide, err := strconv.ParseFloat(string(b), 64)
		narrow, err2 := strconv.ParseFloat(string(b), 32)
		if err != nil || err2 != nil || float32(wide) != v || float32(narrow) != v || !json.Valid(b) {
			t.Errorf("%g is written %s", v, b)
		}
	}
	for bits := uint32(1); bits < 0x7f800000; bits += 104729 { // 20,000 of all numbers
		b, err := appendFloat32(nil, math.Float32frombits(bits))
		wide, err2 := strconv.ParseFloat(string(b), 64)
		if err != nil || err2 != nil || math.Float32bits(float32(wide)) != bits {
			t.Fatalf("%x is written %s", bits, b)
		}
	}
	if _, err := appendFloat32(nil, float32(math.NaN())); err == nil {
		t.Error("NaN was written")
	}
}
