package onnx_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"pipe/onnx"
	"pipe/onnx/internal/onnxtest"
	"pipe/onnx/onnxpb"
)

func TestExternalDataRoundTrip(t *testing.T) {
	m, path := onnxtest.Affine(t), filepath.Join(t.TempDir(), "m.onnx")
	want, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteExternal(path, 16); err != nil {
		t.Fatal(err)
	}
	if after, _ := m.Marshal(); !bytes.Equal(after, want) {
		t.Error("writing changed the model")
	}
	side, err := os.ReadFile(path + ".data")
	if err != nil || len(side) != 16 {
		t.Fatalf("side file has %d bytes, %v", len(side), err)
	}
	back, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := back.Marshal(); !bytes.Equal(got, want) {
		t.Error("model differs after reading")
	}
	if err := os.WriteFile(path+".data", side[:15], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := onnx.ReadFile(path); err == nil || !strings.Contains(err.Error(), `bytes 0 to 16 of "m.onnx.data", which has 15`) {
		t.Errorf("error is %v", err)
	}
}

func TestExternalDataBounds(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "model")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{filepath.Join(dir, "secret"), filepath.Join(inner, "w.bin")} {
		if err := os.WriteFile(p, make([]byte, 24), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(inner, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(inner, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ location, offset, length, want string }{
		{"w.bin", "0", "16", ""},
		{"w.bin", "8", "16", ""},
		{"w.bin", "8", "", ""},
		{"w.bin", "9", "16", "bytes 9 to 25"},
		{"w.bin", "0", "8", "8 bytes for float64 of shape [2 1]"},
		{"w.bin", "30", "", "which has 24"},
		{"w.bin", "9223372036854775807", "16", "which has 24"},
		{"w.bin", "0", "-3", "negative"},
		{"missing.bin", "0", "16", "no such file"},
		{".", "0", "16", "not a regular file"},
		{"pipe", "0", "16", "not a regular file"}, // without waiting for its writer
		{"link", "0", "16", "escapes"},
		{"../secret", "0", "16", "not inside the model's folder"},
		{"", "0", "16", "not inside the model's folder"},
	}
	for _, tt := range tests {
		m := onnxtest.Affine(t)
		w := m.Proto.Graph.Initializer[0]
		w.RawData, w.DataLocation = nil, onnxpb.TensorProto_EXTERNAL.Enum()
		for k, v := range map[string]string{"location": tt.location, "offset": tt.offset, "length": tt.length} {
			if v != "" || k == "location" {
				w.ExternalData = append(w.ExternalData, &onnxpb.StringStringEntryProto{Key: proto.String(k), Value: proto.String(v)})
			}
		}
		path := filepath.Join(inner, "m.onnx")
		if err := m.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		_, err := onnx.ReadFile(path)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q at %s, length %q: error is %v, want %q", tt.location, tt.offset, tt.length, err, tt.want)
		}
	}
}

func TestWriteFileLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	if err := onnxtest.Affine(t).WriteFile(filepath.Join(dir, "gone", "m.onnx")); err == nil {
		t.Error("wrote into a folder that does not exist")
	}
	target := filepath.Join(dir, "taken")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := onnxtest.Affine(t).WriteFile(target); err == nil {
		t.Error("replaced a folder")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v, %v", entries, err)
	}
}
