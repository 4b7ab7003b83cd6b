package onnx_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
	"pipe/onnx/onnxpb"
)

// FuzzExternalData: for any external data location, the result is bytes of a file in the model's folder, as many as the
// tensor has, or an error.
func FuzzExternalData(f *testing.F) {
	above := f.TempDir()
	folder := filepath.Join(above, "model")
	if err := os.MkdirAll(filepath.Join(folder, "sub"), 0o777); err != nil {
		f.Fatal(err)
	}
	inside := []byte("abcdefghijklmnopqrstuvwx")
	for name, b := range map[string][]byte{"secret": bytes.ToUpper(inside), "model/w.bin": inside, "model/sub/w.bin": inside} {
		if err := os.WriteFile(filepath.Join(above, name), b, 0o666); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(folder, "link")); err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][4]string{
		{"w.bin", "0", "16"},
		{"w.bin", "8", ""},
		{"sub/w.bin", "8", "16"},
		{"../secret", "0", "16"},
		{"link", "0", "16"},
		{"w.bin", "9223372036854775807", "16"},
		{"w.bin", "-1", "-1"},
		{"", "0", "16"},
		{".", "0", "0"},
		{"sub/../w.bin", "+1", "0x10"},
		{`..\secret`, "0", "16"},
		{"w.bin\x00", "0", "16"},
	} {
		f.Add(seed[0], seed[1], seed[2], int64(2), int64(1))
	}
	f.Add("w.bin", "0", "16", int64(1)<<62, int64(4))
	f.Add("w.bin", "0", "0", int64(-1), int64(0))
	path := filepath.Join(folder, "m.onnx")
	whole := onnxtest.Affine(f)
	f.Fuzz(func(t *testing.T, location, offset, length string, rows, columns int64) {
		p := proto.Clone(whole.Proto).(*onnxpb.ModelProto)
		tensor := p.Graph.Initializer[0]
		tensor.RawData, tensor.FloatData, tensor.DoubleData = nil, nil, nil
		tensor.DataType, tensor.DataLocation, tensor.Dims = proto.Int32(int32(onnx.Float64)), onnxpb.TensorProto_EXTERNAL.Enum(), []int64{rows, columns}
		for _, e := range [][2]string{{"location", location}, {"offset", offset}, {"length", length}} {
			if e[1] != "" {
				tensor.ExternalData = append(tensor.ExternalData, &onnxpb.StringStringEntryProto{Key: proto.String(e[0]), Value: proto.String(e[1])})
			}
		}
		b, err := proto.Marshal(p)
		if err != nil {
			return // not UTF-8
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		files, err := onnx.ExternalFiles(path)
		for _, file := range files {
			if err == nil && !filepath.IsLocal(file) {
				t.Fatalf("%q is outside", file)
			}
		}
		m, err := onnx.ReadFile(path)
		if err != nil {
			return
		}
		raw := m.Proto.Graph.Initializer[0].RawData
		if int64(len(raw)) != 8*rows*columns || !bytes.Contains(inside, raw) {
			t.Fatalf("read %q", raw)
		}
	})
}
