package models

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/onnx/ort/orttest"
)

// sealed makes a checkpoint file with any head, so that the fuzzer gets past the checksum.
func sealed(head, rest []byte) []byte {
	b := binary.LittleEndian.AppendUint64([]byte(checkpointMagic), uint64(len(head)))
	b = append(append(b, head...), rest...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add([]byte(`{"format":1,"step":1,"steps":2,"stopped":false,"recorder_bytes":0,"floats":1}`), []byte{0, 0, 0, 0}, true)
	f.Add([]byte(`{"format":2}`), []byte{}, true)
	f.Add([]byte("PIPECKPT"), []byte("junk"), false)
	f.Fuzz(func(t *testing.T, head, rest []byte, seal bool) {
		b := append(append([]byte(nil), head...), rest...)
		if seal {
			b = sealed(head, rest)
		}
		c, state, err := parseCheckpoint(b)
		if err != nil {
			return
		}
		if !seal || len(state) != 4*c.Floats || len(state) != len(rest) {
			t.Fatalf("head %q and %d bytes parsed as %+v with %d bytes", head, len(rest), c, len(state))
		}
	})
}

// TestUnusableCheckpointIsRefused: a damaged file, and one with the right key and another shape.
func TestUnusableCheckpointIsRefused(t *testing.T) {
	p, s := smallProblem(50), smallSettings()
	o := Options{Runtime: orttest.Open(t, 0), Save: CheckpointPolicy{Dir: t.TempDir()}}
	mustTrain(t, p, smallSpecs(1), s, o)
	path := filepath.Join(o.Save.Dir, "group-0.ckpt")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, state, err := parseCheckpoint(whole)
	if err != nil {
		t.Fatal(err)
	}
	c.Floats--
	head, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string][]byte{
		"damaged; without it its models start over": append(whole[:len(whole)-1:len(whole)-1], whole[len(whole)-1]^1),
		"state does not fit the models":             sealed(head, state[4:]),
	} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Train(t.Context(), p, smallSpecs(1), s, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
