package models

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
)

// sealed makes a checkpoint file of any head, so that the fuzzer gets past the
// checksum.
func sealed(head, rest []byte) []byte {
	b := binary.LittleEndian.AppendUint64([]byte(checkpointMagic), uint64(len(head)))
	b = append(append(b, head...), rest...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add([]byte(`{"format":1,"step":1,"steps":2,"recorder_bytes":1,"floats":1}`), []byte{1, 0, 0, 0, 0}, true)
	f.Add([]byte(`{"format":2}`), []byte{}, true)
	f.Add([]byte("PIPECKPT"), []byte("junk"), false)
	f.Fuzz(func(t *testing.T, head, rest []byte, seal bool) {
		b := append(append([]byte(nil), head...), rest...)
		if seal {
			b = sealed(head, rest)
		}
		c, recorder, state, err := parseCheckpoint(b)
		if err != nil {
			return
		}
		if !seal || len(recorder) != c.Recorder || len(state) != 4*c.Floats || len(recorder)+len(state) != len(rest) {
			t.Fatalf("head %q and %d bytes parsed as %+v with %d and %d bytes", head, len(rest), c, len(recorder), len(state))
		}
	})
}
