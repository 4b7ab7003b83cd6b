package oip

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"testing"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	pb "pipe/serve/oip/inferencepb"
)

// FuzzREST gives any body, with any length of its JSON, to the decoder of requests. Whatever it accepts has the number of
// elements of its shape.
func FuzzREST(f *testing.F) {
	f.Add(string(table(numbers(1, 2), `,"id":"x","parameters":{"timeout":5,"a":"b"}`)), -1)
	head := `{"inputs":[{"name":"features","shape":[1,1],"datatype":"FP32","parameters":{"binary_data_size":4}}]}`
	f.Add(head+"\x00\x00\x80\x3f", len(head))
	f.Add(`{"inputs":[{"name":"s","shape":[2],"datatype":"BYTES","data":["a","\u00e9\n"]}],"outputs":[{"name":"o","parameters":{"binary_data":false}}]}`, -1)
	f.Add(`{"inputs":[{"name":"b","shape":[1,2,2],"datatype":"BOOL","data":[[[true,false],[false,true]]]}]}`, -1)
	f.Add(`{"inputs":[{"name":"i","shape":[3],"datatype":"INT8","data":[-128,127,1.5]}]}`, -1)
	f.Fuzz(func(t *testing.T, body string, length int) {
		q := &request{model: "m"}
		if readRequest(q, []byte(body), length) != nil {
			return
		}
		m := new(memory)
		for _, in := range q.inputs {
			checkRead(t, in, m)
		}
	})
}

// FuzzLists reads requests with their lists cut out and in one piece: the same are accepted, with the same elements.
func FuzzLists(f *testing.F) {
	for _, data := range []string{
		"[1,2]", "[ 1.5 , -2e3 ]", "[01,2]", "[1.,2]", "[.5,2]", "[-,2]", "[1,,2]", "[1,2,]", "[1 2]", "[[1],[2]]", "[1,2,3]", "[]", "[-0,0.1]", `["a]b",1]`, "0", "null",
		`[1,2],"parameters":{"data":[1]}`, `[1,2]],"x":[`, "[1e39,1]", "[true,1]", "[16777217.00000001,1]", `[1,2],"data":[1,2]`,
	} {
		f.Add(`{"inputs":[{"name":"x","shape":[2,1],"datatype":"FP32","data":` + data + `}]}`)
	}
	f.Add(`{"id":"\"data\":[1]","inputs":[{"name":"a","shape":[1],"datatype":"INT64","data":[7]},{"data":[1],"name":"x","shape":[1],"datatype":"FP32"}],"data":[0]}`)
	read := func(t *testing.T, q *request, wrong error) []*onnx.Tensor {
		if wrong != nil {
			return nil
		}
		out := []*onnx.Tensor{}
		for _, in := range q.inputs {
			dtype, known := dtypeOf(in.datatype)
			n := onnx.Elements(in.shape)
			if !known || n < 1 || n > 1<<16 {
				t.Skip("of no tensor that can be read")
			}
			x := &onnx.Tensor{DType: dtype, Shape: in.shape}
			if in.elements.read(x, int(n), new(memory)) != nil {
				return nil
			}
			out = append(out, x)
		}
		return out
	}
	f.Fuzz(func(t *testing.T, body string) {
		cut, whole := &request{model: "m"}, &request{model: "m"}
		got := read(t, cut, readRequest(cut, []byte(body), -1))
		want := read(t, whole, readHeader(whole, []byte(body), nil, nil))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("cut %v, in one piece %v", got, want)
		}
	})
}

// checkRead reads a tensor of any datatype, and checks that what was read fits its shape.
func checkRead(t *testing.T, in tensor, m *memory) {
	dtype, known := dtypeOf(in.datatype)
	n := onnx.Elements(in.shape)
	if !known || n < 0 || n > 1<<20 {
		return
	}
	for _, size := range in.shape {
		if size < 1 || size > 1<<20 {
			return
		}
	}
	out := &onnx.Tensor{DType: dtype, Shape: in.shape}
	if in.elements.read(out, int(n), m) != nil {
		return
	}
	if err := out.Validate(); err != nil {
		t.Fatalf("%s %v: %v", in.datatype, in.shape, err)
	}
	if dtype == onnx.Float16 {
		return
	}
	if text, err := appendJSON(nil, out); err == nil { // what is written is read again
		again := &onnx.Tensor{DType: dtype, Shape: in.shape}
		if err := jsonElements(text).read(again, int(n), m); err != nil || !bytes.Equal(again.Raw, out.Raw) || fmt.Sprint(again.Text) != fmt.Sprint(out.Text) {
			t.Fatalf("%s %v: %s: %v", in.datatype, in.shape, text, err)
		}
	}
}

// FuzzRawElements reads any bytes as any datatype.
func FuzzRawElements(f *testing.F) {
	f.Add([]byte("\x03\x00\x00\x00abc\x00\x00\x00\x00"), "BYTES", 2, 1)
	f.Add([]byte{0, 1, 2}, "BOOL", 3, 1)
	f.Add(make([]byte, 48), "FP32", 2, 6)
	f.Fuzz(func(t *testing.T, data []byte, datatype string, rows, width int) {
		checkRead(t, tensor{"x", datatype, []int64{int64(rows), int64(width)}, rawElements(data)}, new(memory))
	})
}

// FuzzGRPC gives any message to the decoder of requests of gRPC.
func FuzzGRPC(f *testing.F) {
	type input = pb.ModelInferRequest_InferInputTensor
	for _, r := range []*pb.ModelInferRequest{
		{ModelName: "m", Inputs: []*input{{Name: "x", Datatype: "FP32", Shape: []int64{1, 2}}}, RawInputContents: [][]byte{make([]byte, 8)}},
		{ModelName: "m", Inputs: []*input{{Name: "x", Datatype: "INT8", Shape: []int64{2}, Contents: &pb.InferTensorContents{IntContents: []int32{-1, 300}}}}},
		{ModelName: "m", Parameters: map[string]*pb.InferParameter{"timeout": {}}, Inputs: []*input{{Name: "x", Datatype: "BYTES", Shape: []int64{1}, Contents: &pb.InferTensorContents{BytesContents: [][]byte{{255}}}}}},
	} {
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r pb.ModelInferRequest
		if proto.Unmarshal(b, &r) != nil {
			return
		}
		q, _, err := rpcRequest(&r)
		if err != nil {
			return
		}
		m := new(memory)
		for _, in := range q.inputs {
			checkRead(t, in, m)
		}
	})
}

// FuzzHTTP sends any body, in any encoding, to a whole server.
func FuzzHTTP(f *testing.F) {
	s := start(f, func(o *Options) { o.Settings.MaxBody, o.Settings.MaxRows = 1<<16, 64 })
	mux := http.NewServeMux()
	s.api.Register(mux)
	f.Add("/v2/models/fixed/infer", table(numbers(1, 2), ""), "", -1)
	f.Add("/v2/models/any-price/versions/1/infer", table(numbers(1, 2), `,"outputs":[{"name":"action"}]`), "gzip", 5)
	f.Fuzz(func(t *testing.T, path string, body []byte, encoding string, length int) {
		r := httptest.NewRequest("POST", "/", bytes.NewReader(body))
		r.URL.Path = path
		r.Header.Set("Content-Encoding", encoding)
		if length >= 0 {
			r.Header.Set(headerLength, strconv.Itoa(length))
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code == 500 {
			t.Fatalf("%s: %s", path, w.Body)
		}
	})
}
