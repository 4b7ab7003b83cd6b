package oip

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"pipe/onnx"
	pb "pipe/serve/oip/inferencepb"
)

func features(data string) string {
	return `{"name":"features","shape":[1,6],"datatype":"FP32","data":` + data + `}`
}

// Every wrong request over REST is an error with a status that is right and words that say what is wrong.
func TestWrongRequests(t *testing.T) {
	s := start(t, func(o *Options) { o.Settings.MaxRows, o.Settings.MaxBody = 4, 4096 })
	good := features("[1,2,3,4,5,6]")
	body := func(input string) string { return `{"inputs":[` + input + `]}` }
	type test struct {
		body, header string
		status       int
		words        string
	}
	tests := map[string]test{
		"empty":               {"", "", 400, "empty"},
		"not JSON":            {"features", "", 400, "byte 1"},
		"not an object":       {"[]", "", 400, "not an object"},
		"cut":                 {body(good)[:40], "", 400, "ends early"},
		"more after it":       {body(good) + "x", "", 400, ""},
		"binary, no header":   {body(good) + "\x00\x00", "", 400, ""},
		"twice the same key":  {`{"inputs":[` + good + `],"inputs":[]}`, "", 400, "duplicate"},
		"bad UTF-8":           {"{\"id\":\"\xff\",\"inputs\":[" + good + "]}", "", 400, "UTF-8"},
		"deep":                {`{"x":` + strings.Repeat("[", 4000) + `,"inputs":[]}`, "", 400, ""},
		"no inputs":           {`{"id":"1"}`, "", 400, "no inputs"},
		"inputs is no list":   {`{"inputs":{}}`, "", 400, "inputs is not a list"},
		"missing input":       {`{"inputs":[]}`, "", 400, "missing"},
		"unknown input":       {body(strings.Replace(good, "features", "other", 1)), "", 400, `no input "other"`},
		"input twice":         {body(good + "," + good), "", 400, "twice"},
		"no name":             {body(`{"shape":[1],"datatype":"FP32","data":[1]}`), "", 400, "no name"},
		"no shape":            {body(`{"name":"features","datatype":"FP32","data":[1]}`), "", 400, "no shape"},
		"no datatype":         {body(`{"name":"features","shape":[1,6],"data":[1]}`), "", 400, "no datatype"},
		"no data":             {body(`{"name":"features","shape":[1,6],"datatype":"FP32"}`), "", 400, "no data"},
		"null":                {body(features("null")), "", 400, "no data"},
		"unknown datatype":    {body(strings.Replace(good, "FP32", "float", 1)), "", 400, "FP32"},
		"other datatype":      {body(strings.Replace(good, "FP32", "FP64", 1)), "", 400, "FP64"},
		"rank":                {body(strings.Replace(good, "[1,6]", "[6]", 1)), "", 400, "shape"},
		"width":               {body(strings.Replace(good, "[1,6]", "[1,5]", 1)), "", 400, "shape"},
		"no rows":             {body(strings.Replace(good, "[1,6]", "[0,6]", 1)), "", 400, "shape"},
		"negative":            {body(strings.Replace(good, "[1,6]", "[-1,6]", 1)), "", 400, "sizes"},
		"fraction":            {body(strings.Replace(good, "[1,6]", "[1.5,6]", 1)), "", 400, "sizes"},
		"huge shape":          {body(strings.Replace(good, "[1,6]", "[9223372036854775807,6]", 1)), "", 400, "shape"},
		"many rows":           {body(strings.Replace(good, "[1,6]", "[5,6]", 1)), "", 400, "more than 4 rows"},
		"too few":             {body(features("[1,2,3,4,5]")), "", 400, "fewer elements"},
		"too many":            {body(features("[1,2,3,4,5,6,7]")), "", 400, "more elements"},
		"nested wrong":        {body(features("[[1,2,3],[4,5,6]]")), "", 400, "2 deep"},
		"nested too deep":     {body(features("[[[1,2,3,4,5,6]]]")), "", 400, "nested"},
		"half nested":         {body(features("[1,[2,3,4,5,6]]")), "", 400, "nested"},
		"half nested again":   {body(features("[[1,2,3,4,5],6]")), "", 400, ""},
		"a text":              {body(features(`["1",2,3,4,5,6]`)), "", 400, "element 0"},
		"null among them":     {body(features(`[1,null,3,4,5,6]`)), "", 400, "element 1"},
		"an object":           {body(features(`[1,{},3,4,5,6]`)), "", 400, "element 1"},
		"true":                {body(features(`[1,2,3,4,5,true]`)), "", 400, "element 5"},
		"NaN":                 {body(features(`[1,2,NaN,4,5,6]`)), "", 400, ""},
		"too large":           {body(features(`[1,2,1e39,4,5,6]`)), "", 400, "too large"},
		"data is a number":    {body(features(`1`)), "", 400, "not a list"},
		"other output":        {`{"inputs":[` + good + `],"outputs":[{"name":"x"}]}`, "", 400, `no output "x"`},
		"output twice":        {`{"inputs":[` + good + `],"outputs":[{"name":"action"},{"name":"action"}]}`, "", 400, "twice"},
		"classes":             {`{"inputs":[` + good + `],"outputs":[{"name":"scores","parameters":{"classification":2}}]}`, "", 400, "classification"},
		"a list as parameter": {`{"inputs":[` + good + `],"parameters":{"x":[1]}}`, "", 400, "not a string"},
		"timeout":             {`{"inputs":[` + good + `],"parameters":{"timeout":-1}}`, "", 400, "timeout"},
		"late":                {`{"inputs":[` + good + `],"parameters":{"timeout":1}}`, "", 504, "deadline"},
		"other model":         {`{"model_name":"x","inputs":[` + good + `]}`, "", 400, "model_name"},
		"large":               {body(strings.Repeat(" ", 5000) + good), "", 413, "4096"},
		"header of the moon":  {body(good), "100000", 400, headerLength},
		"header no number":    {body(good), "x", 400, headerLength},
		"both":                {body(strings.Replace(good, `"data"`, `"parameters":{"binary_data_size":24},"data"`, 1)), "-", 400, "both"},
	}
	binary := `{"inputs":[{"name":"features","shape":[1,6],"datatype":"FP32","parameters":{"binary_data_size":%d}}]}%s`
	raw := string(onnx.Float32s([]int64{1, 6}, make([]float32, 6)).Raw)
	tests["binary short"] = test{fmt.Sprintf(binary, 24, raw[:20]), "-", 400, "only 20 left"}
	tests["binary long"] = test{fmt.Sprintf(binary, 24, raw+"x"), "-", 400, "1 bytes of binary data are left"}
	tests["binary of another size"] = test{fmt.Sprintf(binary, 20, raw[:20]), "-", 400, "20 bytes"}
	tests["binary NaN"] = test{fmt.Sprintf(binary, 24, raw[:20]+"\x00\x00\xc0\x7f"), "-", 400, "NaN"}
	tests["binary infinite"] = test{fmt.Sprintf(binary, 24, "\x00\x00\x80\xff"+raw[4:]), "-", 400, "-Inf"}
	for name, test := range tests {
		header := map[string]string{}
		switch {
		case test.header == "-":
			header[headerLength] = fmt.Sprint(strings.LastIndex(test.body, "]}") + 2)
		case test.header != "":
			header[headerLength] = test.header
		}
		r := s.send(t, "POST", "/v2/models/fixed/infer", []byte(test.body), header)
		var e struct{ Error string }
		if err := json.Unmarshal(r.body, &e); r.status != test.status || err != nil || e.Error == "" || !strings.Contains(e.Error, test.words) {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
}

// Features so large that the policy's own numbers overflow are an error, not an answer.
func TestFeaturesOutOfRange(t *testing.T) {
	s := start(t)
	for _, sign := range []string{"", "-"} {
		x := strings.TrimSuffix(strings.Repeat(sign+"3.4e38,", dim), ",")
		r := s.send(t, "POST", "/v2/models/any-price/infer", []byte(`{"inputs":[`+features("["+x+"]")+`]}`), nil)
		if r.status != 400 || !strings.Contains(string(r.body), "row 0") {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
}

func TestUnknownPlaces(t *testing.T) {
	s := start(t)
	good := []byte(`{"inputs":[` + features("[1,2,3,4,5,6]") + `]}`)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/v2/models/none/infer", 404},
		{"POST", "/v2/models/fixed/versions/2/infer", 404},
		{"POST", "/v2/models/fixed/versions/..%2f/infer", 404},
		{"POST", "/v2/models/%00/infer", 404},
		{"GET", "/v2/models/none", 404},
		{"GET", "/v2/models/none/ready", 404},
		{"GET", "/v2/models/none/config", 404},
		{"GET", "/v2/models/none/stats", 404},
		{"GET", "/v2/models/fixed/infer", 405},
		{"DELETE", "/v2/models/fixed", 405},
		{"POST", "/v2/models/stats", 405},
		{"PUT", "/v2/health/live", 405},
		{"GET", "/v2/x", 404},
		{"GET", "/v2/models/fixed/versions/1/ready", 200},
		{"GET", "/v2/models/fixed/versions/1/config", 200},
		{"POST", "/v2/models/fixed/versions/1/infer", 200},
	} {
		r := s.send(t, c.method, c.path, good, nil)
		if r.status != c.status || !json.Valid(r.body) || (c.status != 200) != strings.Contains(string(r.body), `"error"`) {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.body)
		}
	}
}

// Compressed bodies are read, and those that are not what they say, or grow too large, are errors.
func TestCompression(t *testing.T) {
	s := start(t, func(o *Options) { o.Settings.MaxBody = 1 << 16 })
	good := table(numbers(1, 100), "")
	pack := func(w io.WriteCloser, buffer *bytes.Buffer, b []byte) []byte {
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return buffer.Bytes()
	}
	zip := func(b []byte) []byte { var w bytes.Buffer; return pack(gzip.NewWriter(&w), &w, b) }
	deflate := func(b []byte) []byte { var w bytes.Buffer; return pack(zlib.NewWriter(&w), &w, b) }
	bomb := zip(append(good, bytes.Repeat([]byte(" "), 1<<20)...))
	for _, c := range []struct {
		name, how, accept string
		body              []byte
		status            int
		encoded           string
	}{
		{"gzip", "gzip", "gzip", zip(good), 200, "gzip"},
		{"deflate", "deflate", "deflate, br", deflate(good), 200, "deflate"},
		{"none", "identity", "gzip;q=0, *", good, 200, ""},
		{"no answer of it", "gzip", "identity", zip(good), 200, ""},
		{"not gzip", "gzip", "", good, 400, ""},
		{"cut", "gzip", "", zip(good)[:200], 400, ""},
		{"not deflate", "deflate", "", zip(good), 400, ""},
		{"other", "br", "", good, 415, ""},
		{"bomb", "gzip", "", bomb, 413, ""},
	} {
		r := s.send(t, "POST", "/v2/models/fixed/infer", c.body, map[string]string{"Content-Encoding": c.how, "Accept-Encoding": c.accept})
		body, err := r.body, error(nil)
		switch r.header.Get("Content-Encoding") {
		case "gzip":
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
				body, err = io.ReadAll(z)
			}
		case "deflate":
			var z io.ReadCloser
			if z, err = zlib.NewReader(bytes.NewReader(body)); err == nil {
				body, err = io.ReadAll(z)
			}
		}
		if r.status != c.status || err != nil || !json.Valid(body) || r.header.Get("Content-Encoding") != c.encoded {
			t.Errorf("%s: %d %v %v %.200s", c.name, r.status, r.header, err, body)
		}
	}
}

// Wrong requests over gRPC have the right status.
func TestWrongCalls(t *testing.T) {
	s := start(t, func(o *Options) { o.Settings.MaxBody = 1 << 16 })
	type input = pb.ModelInferRequest_InferInputTensor
	in := func(c *pb.InferTensorContents) *input {
		return &input{Name: "features", Datatype: "FP32", Shape: []int64{1, dim}, Contents: c}
	}
	six := make([]float32, dim)
	raw := onnx.Float32s([]int64{dim}, six).Raw
	for name, c := range map[string]struct {
		r     *pb.ModelInferRequest
		code  codes.Code
		words string
	}{
		"empty":          {&pb.ModelInferRequest{}, codes.NotFound, "no model"},
		"unknown":        {&pb.ModelInferRequest{ModelName: "none"}, codes.NotFound, "none"},
		"no inputs":      {&pb.ModelInferRequest{ModelName: "fixed"}, codes.InvalidArgument, "missing"},
		"no contents":    {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{in(nil)}}, codes.InvalidArgument, "neither"},
		"other field":    {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{in(&pb.InferTensorContents{Fp64Contents: make([]float64, dim)})}}, codes.InvalidArgument, "fp32_contents"},
		"two fields":     {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{in(&pb.InferTensorContents{Fp32Contents: six, IntContents: []int32{1}})}}, codes.InvalidArgument, "other fields"},
		"few":            {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{in(&pb.InferTensorContents{Fp32Contents: six[1:]})}}, codes.InvalidArgument, "5 elements"},
		"raw count":      {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{in(nil)}, RawInputContents: [][]byte{raw, raw}}, codes.InvalidArgument, "2 entries"},
		"raw and other":  {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{in(&pb.InferTensorContents{Fp32Contents: six})}, RawInputContents: [][]byte{raw}}, codes.InvalidArgument, "contents"},
		"raw short":      {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{in(nil)}, RawInputContents: [][]byte{raw[1:]}}, codes.InvalidArgument, "23 bytes"},
		"raw NaN":        {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{in(nil)}, RawInputContents: [][]byte{append(raw[:20:20], 0, 0, 0xc0, 0x7f)}}, codes.InvalidArgument, "NaN"},
		"large":          {&pb.ModelInferRequest{ModelName: "fixed", Id: strings.Repeat("x", 1<<17), Inputs: []*input{in(nil)}}, codes.ResourceExhausted, ""},
		"shared":         {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{{Name: "features", Parameters: map[string]*pb.InferParameter{"shared_memory_region": {ParameterChoice: &pb.InferParameter_StringParam{StringParam: "r"}}}}}}, codes.InvalidArgument, "shared"},
		"negative shape": {&pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{{Name: "features", Datatype: "FP32", Shape: []int64{-1, -6}}}, RawInputContents: [][]byte{raw}}, codes.InvalidArgument, "shape"},
	} {
		_, err := s.rpc.ModelInfer(t.Context(), c.r)
		if status.Code(err) != c.code || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := s.rpc.ModelInfer(late, &pb.ModelInferRequest{ModelName: "fixed", Inputs: []*input{in(&pb.InferTensorContents{Fp32Contents: six})}}); status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
}

// Readiness is what the server says, over every transport.
func TestReadiness(t *testing.T) {
	ready := true
	s := start(t, func(o *Options) { o.Ready = func() bool { return ready } })
	for _, ready = range []bool{true, false} {
		status := map[bool]int{true: 200, false: 503}[ready]
		r := s.send(t, "GET", "/v2/health/ready", nil, nil)
		if want := fmt.Sprintf(`{"ready":%v}`, ready); r.status != status || string(r.body) != want {
			t.Errorf("%d %s", r.status, r.body)
		}
		if r := s.send(t, "GET", "/v2/health/live", nil, nil); r.status != 200 || string(r.body) != `{"live":true}` {
			t.Errorf("%d %s", r.status, r.body)
		}
		if r := s.send(t, "GET", "/v2/models/fixed/ready", nil, nil); r.status != status {
			t.Errorf("%d %s", r.status, r.body)
		}
		if a, err := s.rpc.ServerReady(t.Context(), &pb.ServerReadyRequest{}); err != nil || a.Ready != ready {
			t.Error(a, err)
		}
		h := &rpcHealth{api: s.api}
		a, err := h.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "inference.GRPCInferenceService"})
		if err != nil || (a.Status == grpc_health_v1.HealthCheckResponse_SERVING) != ready {
			t.Error(a, err)
		}
	}
}
