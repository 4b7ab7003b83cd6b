package decisionlog

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// benchRecord is a record of 384 features and 8 pairs, as a policy by estimates writes it.
func benchRecord() (*Record, *PolicyInfo) {
	p := testPolicy(4, 2, 384)
	rng := rand.New(rand.NewPCG(3, 4))
	r := testRecord(rng, &p)
	for r.ExpectedCost == nil {
		r = testRecord(rng, &p)
	}
	r.Attempts, r.Shadows, r.Request, r.Client, r.Error = nil, nil, "0193", "key", ""
	return r, &p
}

// BenchmarkAdd is the cost of one record for the request that makes it, and for the writer behind it up to the Parquet
// file: cpu-us/record is the processor time of the whole process.
func BenchmarkAdd(b *testing.B) {
	r, p := benchRecord()
	for _, features := range []string{FullFeatures, DigestFeatures, NoFeatures} {
		b.Run("features="+features, func(b *testing.B) {
			s := DefaultSettings()
			s.Features = features
			folder := b.TempDir()
			w, err := Open(folder, s)
			if err != nil {
				b.Fatal(err)
			}
			if err := w.Policy(*p); err != nil {
				b.Fatal(err)
			}
			cpu := cpuTime(b)
			for b.Loop() {
				c := *r
				c.ID = NewID()
				if err := w.Add(&c); err != nil {
					b.Fatal(err)
				}
				for w.Stats().Queued > 10_000 {
					time.Sleep(time.Millisecond)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/1000/float64(b.N), "cpu-us/record")
			if d := w.Stats().Dropped; d > 0 {
				b.Errorf("%d records were dropped", d)
			}
			os.RemoveAll(folder)
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	r, _ := benchRecord()
	var line []byte
	for b.Loop() {
		line = appendRecord(line[:0], r)
	}
	b.SetBytes(int64(len(line)))
}

func BenchmarkDecode(b *testing.B) {
	r, _ := benchRecord()
	line := appendRecord(nil, r)
	for b.Loop() {
		body, err := unseal(line[:len(line)-1])
		if err == nil {
			_, err = readRecord(body)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(line)))
}
