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
	r.Attempts, r.Shadows, r.Request, r.Client, r.Error, r.PairFees = nil, nil, "0193", "key", "", nil
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

// BenchmarkPaced writes 8,000 records of 384 features per second, as a busy server does. percent-of-core is the processor
// time of the log, up to the Parquet file, as a share of one core.
func BenchmarkPaced(b *testing.B) {
	r, p := benchRecord()
	w, err := Open(b.TempDir(), DefaultSettings())
	if err != nil {
		b.Fatal(err)
	}
	if err := w.Policy(*p); err != nil {
		b.Fatal(err)
	}
	cpu, start, n := cpuTime(b), time.Now(), 0
	for b.Loop() {
		c := *r
		c.ID = NewID()
		if err := w.Add(&c); err != nil {
			b.Fatal(err)
		}
		if n++; n%80 == 0 {
			time.Sleep(time.Until(start.Add(time.Duration(n) * time.Second / 8000)))
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	used := float64((cpuTime(b) - cpu).Nanoseconds())
	b.ReportMetric(used/1000/float64(b.N), "cpu-us/record")
	b.ReportMetric(used/1000/float64(b.N)*8000/1e6*100, "percent-of-core")
	if s := w.Stats(); s.Dropped > 0 || s.Records != int64(b.N) {
		b.Errorf("%+v", s)
	}
}

func BenchmarkEncode(b *testing.B) {
	r, _ := benchRecord()
	w := newLineWriter()
	var line []byte
	for b.Loop() {
		line = w.append(line[:0], r)
	}
	b.SetBytes(int64(len(line)))
}

func BenchmarkDecode(b *testing.B) {
	r, _ := benchRecord()
	line := appendRecord(nil, r)
	reader := newRecordReader()
	for b.Loop() {
		body, err := unseal(line[:len(line)-1])
		if err == nil {
			_, err = reader.read(body)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(line)))
}

// benchSegment is a segment of n lines, without its Parquet file.
func benchSegment(b *testing.B, n int) *segment {
	r, p := benchRecord()
	s := &segment{folder: b.TempDir(), stream: decisions, number: 1}
	text, err := appendPolicy(appendHead(nil, decisions, 1), p)
	for range n {
		r.ID = NewID()
		text = appendRecord(text, r)
	}
	if err == nil {
		err = os.WriteFile(s.path(linesEnding), text, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkConvert turns lines into Parquet.
func BenchmarkConvert(b *testing.B) {
	const n = 2000
	s := benchSegment(b, n)
	cpu := cpuTime(b)
	for b.Loop() {
		if err := writeParquet(s, false); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/1000/float64(n*b.N), "cpu-us/record")
}

// BenchmarkReadSegment reads a Parquet segment.
func BenchmarkReadSegment(b *testing.B) {
	const n = 2000
	s := benchSegment(b, n)
	if err := writeParquet(s, false); err != nil {
		b.Fatal(err)
	}
	cpu := cpuTime(b)
	for b.Loop() {
		read := 0
		err := recordsOfParquet(s, func(*Record, *PolicyInfo) error { read++; return nil })
		if err != nil || read != n {
			b.Fatal(read, err)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/1000/float64(n*b.N), "cpu-us/record")
}
