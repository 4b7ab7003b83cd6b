package featurize

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"pipe/internal/realdata"
	"pipe/onnx/ort/orttest"
)

// claims reads the first claims of a file.
func claims(t testing.TB, n int) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(realdata.Folder(t, "fever"), "paper_dev.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var texts []string
	for lines := bufio.NewScanner(f); len(texts) < n && lines.Scan(); {
		var row struct{ Claim string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, row.Claim)
	}
	return texts
}

// BenchmarkTextEncoder encodes 2,048 claims with the real encoder on all cores,
// from texts to vectors.
func BenchmarkTextEncoder(b *testing.B) {
	texts, rt := claims(b, 2048), orttest.Open(b, 0)
	e, err := OpenTextEncoder(rt, realdata.Folder(b, "models", "all-MiniLM-L6-v2"), DefaultTextEncoderOptions())
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	dst := make([]float32, len(texts)*e.Dim())
	if err := e.Encode(context.Background(), dst, texts); err != nil { // reserves the runtime's memory
		b.Fatal(err)
	}
	began := cpuTime(b)
	for b.Loop() {
		if err := e.Encode(context.Background(), dst, texts); err != nil {
			b.Fatal(err)
		}
	}
	done := float64(b.N * len(texts))
	b.ReportMetric(done/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/done, "cpu-us/claim")
}

// cpuTime is what all threads of the process have used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
