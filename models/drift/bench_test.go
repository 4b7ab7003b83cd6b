package drift

import (
	"testing"

	"pipe/internal/seeded"
)

// Per row of 64 features, against a sample of 10,000 rows.
func BenchmarkRows(b *testing.B) {
	const dim, rows = 64, 1024
	random := seeded.Stream(1, "bench", 0)
	base, now := gaussian(random, 10_000, dim, 0), gaussian(random, rows, dim, 0)
	samples, counts := make([]*Sample, dim), make([]*Counts, dim)
	for f := range dim {
		var column []float32
		for i := f; i < len(base); i += dim {
			column = append(column, base[i])
		}
		samples[f] = NewSample(column)
		counts[f] = samples[f].NewCounts()
	}
	m, err := NewMMD(base, dim, 1)
	if err != nil {
		b.Fatal(err)
	}
	s := m.NewSum()
	perRow := func(b *testing.B, add func()) {
		for b.Loop() {
			add()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
	}
	b.Run("counts", func(b *testing.B) {
		perRow(b, func() {
			for f := range dim {
				samples[f].Count(counts[f], now[f:], dim)
			}
		})
	})
	b.Run("mmd", func(b *testing.B) { perRow(b, func() { m.Add(s, now) }) })
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			for f := range dim {
				samples[f].KS(counts[f])
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewMMD(base, dim, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	a, _ := NewAlarm(0.3, 0.05)
	b.Run("alarm", func(b *testing.B) {
		for b.Loop() {
			a.Add(0.2)
		}
	})
	w, _ := NewADWIN(DefaultADWIN())
	b.Run("adwin", func(b *testing.B) {
		for b.Loop() {
			w.Add(0.2)
		}
	})
}
