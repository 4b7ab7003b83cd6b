package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tensorFile is a file of a header and data.
func tensorFile(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range data {
		b = append(b, byte(i))
	}
	return b
}

func entry(dtype, shape string, begin, end int) string {
	return fmt.Sprintf(`{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, dtype, shape, begin, end)
}

func parse(b []byte) (*Safetensors, error) { return readSafetensors(bytes.NewReader(b), int64(len(b))) }

func TestSafetensors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	header := `{"__metadata__":{"format":"pt"},"b":` + entry("I64", "[1]", 6, 14) + `,"a":` + entry("BF16", "[3,1]", 0, 6) +
		`,"none":` + entry("F32", "[0,4]", 14, 14) + `,"scalar":` + entry("U8", "[]", 14, 15) + `}   `
	if err := os.WriteFile(path, tensorFile(header, 15), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSafetensors(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := fmt.Sprint(s.Names()); got != "[a b none scalar]" {
		t.Error(got)
	}
	for name, want := range map[string]string{
		"a": "bfloat16 [3 1] [0 1 2 3 4 5]", "b": "int64 [1] [6 7 8 9 10 11 12 13]", "none": "float32 [0 4] []", "scalar": "uint8 [] [14]",
	} {
		x, err := s.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(x.DType, x.Shape, x.Raw); got != want || x.Validate() != nil {
			t.Errorf("%s is %s (%v), want %s", name, got, x.Validate(), want)
		}
		dtype, shape, ok := s.Lookup(name)
		if dtype != x.DType || fmt.Sprint(shape) != fmt.Sprint(x.Shape) || !ok {
			t.Errorf("%s looks like %s %v", name, dtype, shape)
		}
	}
	if _, err := s.Tensor("c"); err == nil {
		t.Error("read a tensor that is not there")
	}
	if _, err := OpenSafetensors(filepath.Dir(path)); err == nil {
		t.Error("read a folder")
	}
}

func TestBadSafetensors(t *testing.T) {
	long := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	for want, b := range map[string][]byte{
		"too few":                             {1, 2},
		"the header has 18446744073709551615": long,
		"the header has 200":                  binary.LittleEndian.AppendUint64(nil, 200),
		"not a JSON object":                   tensorFile(`[]`, 0),
		"after the JSON object":               tensorFile(`{} {}`, 0),
		"EOF":                                 tensorFile(`{"a":`, 0),
		"is a duplicate":                      tensorFile(`{"a":`+entry("U8", "[1]", 0, 1)+`,"a":`+entry("U8", "[1]", 1, 2)+`}`, 2),
		`"__metadata__": is a duplicate`:      tensorFile(`{"__metadata__":{},"__metadata__":{}}`, 0),
		`dtype "F8_E4M3"`:                     tensorFile(`{"a":`+entry("F8_E4M3", "[1]", 0, 1)+`}`, 1),
		"no shape":                            tensorFile(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1),
		"bytes -1 to -1":                      tensorFile(`{"a":{"dtype":"U8","shape":[1]}}`, 1),
		"negative size":                       tensorFile(`{"a":`+entry("U8", "[-1,-1]", 0, 1)+`}`, 1),
		"too large":                           tensorFile(`{"a":`+entry("U8", "[4294967296,4294967296]", 0, 0)+`}`, 0),
		"bytes 0 to 3 for float32":            tensorFile(`{"a":`+entry("F32", "[1]", 0, 3)+`}`, 3),
		"bytes 4 to 0":                        tensorFile(`{"a":`+entry("F32", "[1]", 4, 0)+`}`, 4),
		`key "Shape" must be spelt "shape"`:   tensorFile(`{"a":{"dtype":"U8","shape":[1],"Shape":[1],"data_offsets":[0,1]}}`, 1),
		"unknown field":                       tensorFile(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}`, 1),
		"overlaps":                            tensorFile(`{"a":`+entry("U8", "[2]", 0, 2)+`,"b":`+entry("U8", "[2]", 1, 3)+`}`, 3),
		"a gap before":                        tensorFile(`{"a":`+entry("U8", "[1]", 0, 1)+`,"b":`+entry("U8", "[1]", 2, 3)+`}`, 3),
		"end at byte 1, the file at 2":        tensorFile(`{"a":`+entry("U8", "[1]", 0, 1)+`}`, 2),
		"end at byte 4, the file at 3":        tensorFile(`{"a":`+entry("F32", "[1]", 0, 4)+`}`, 3),
		"for int64 of shape [2305843009213":   tensorFile(`{"a":`+entry("I64", "[2305843009213693952]", 0, 0)+`}`, 0),
	} {
		if _, err := parse(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// FuzzSafetensors reads arbitrary bytes: reading never panics, and every tensor of a file that opens can be read.
func FuzzSafetensors(f *testing.F) {
	f.Add(tensorFile(`{"a":`+entry("F16", "[2]", 0, 4)+`,"b":`+entry("BOOL", "[]", 4, 5)+`}`, 5))
	f.Add(tensorFile(`{"__metadata__":{"a":"b"},"c":`+entry("F64", "[0]", 0, 0)+`}`, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parse(b)
		if err != nil {
			return
		}
		total := 0
		for _, name := range s.Names() {
			x, err := s.Tensor(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Validate(); err != nil {
				t.Fatal(err)
			}
			total += len(x.Raw)
			if _, err := x.ToFloat32(); err != nil && x.DType.IsFloat() && x.DType != Float64 {
				t.Fatal(err)
			}
		}
		if total > len(b) {
			t.Fatalf("%d bytes of tensors in %d", total, len(b))
		}
	})
}

func TestToFloat32(t *testing.T) {
	half := &Tensor{DType: Float16, Shape: []int64{8}}
	for _, h := range []uint16{0x0000, 0x8000, 0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x3555} {
		half.Raw = binary.LittleEndian.AppendUint16(half.Raw, h)
	}
	got, err := half.ToFloat32()
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{0, float32(math.Copysign(0, -1)), 1, -2, 1.0 / (1 << 24), 65504, float32(math.Inf(1)), 0.333251953125}
	for i, v := range got.Float32s() {
		if math.Float32bits(v) != math.Float32bits(want[i]) {
			t.Errorf("element %d is %g, want %g", i, v, want[i])
		}
	}
	wide, err := Float64s([]int64{2}, []float64{0.1, math.Inf(-1)}).ToFloat32()
	if err != nil || wide.Float32s()[0] != 0.1 {
		t.Error(wide, err)
	}
	for _, bad := range []*Tensor{Float64s([]int64{1}, []float64{1e300}), Int64s([]int64{1}, []int64{1})} {
		if _, err := bad.ToFloat32(); err == nil {
			t.Errorf("%s converts", bad.DType)
		}
	}
}
