package featurize

import (
	"errors"
	"slices"
	"testing"

	"pipe/onnx"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
)

// Token ids of another program give the vectors of the texts that they were made of.
func TestEncodeTensorsEqualsEncode(t *testing.T) {
	e, err := OpenTextEncoder(orttest.Open(t, 1), hftest.Folder(t), DefaultTextEncoderOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	texts := []string{"abc", "bcd"}
	tokens, err := e.Tokens(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	want, again := make([]float32, 2*e.Dim()), make([]float32, 2*e.Dim())
	if err := errors.Join(e.Encode(t.Context(), want, texts), e.EncodeTokens(t.Context(), again, tokens)); err != nil || !slices.Equal(want, again) {
		t.Fatalf("%v: tokens give %v, texts %v", err, again, want)
	}
	in := func() map[string]*onnx.Tensor {
		all := map[string]*onnx.Tensor{}
		for _, name := range e.inputs {
			all[name] = tokenTensor(tokens, name)
		}
		return all
	}
	got, err := e.EncodeTensors(t.Context(), in())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %v, want %v", err, got, want)
	}
	length := len(tokens[0].IDs)
	for _, bad := range []int64{-1, hftest.Vocab} {
		broken, ids := in(), in()["input_ids"].Int64s()
		ids[length+1] = bad
		broken["input_ids"] = onnx.Int64s([]int64{2, int64(length)}, ids)
		var row *RowError
		if _, err := e.EncodeTensors(t.Context(), broken); !errors.As(err, &row) || row.Row != 1 {
			t.Errorf("token %d: %v", bad, err)
		}
	}
	for name, broken := range map[string]map[string]*onnx.Tensor{
		"nothing": nil, "another rank": {"input_ids": onnx.Int64s([]int64{2}, []int64{1, 2})}, "no rows": {"input_ids": onnx.Int64s([]int64{0, 3}, nil)},
	} {
		if _, err := e.EncodeTensors(t.Context(), broken); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
	if err := e.EncodeTokens(t.Context(), want[1:], tokens); err == nil {
		t.Error("room for fewer numbers is enough")
	}
}
