package lightgbm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"pipe/onnx"
)

// benchModel has 100 trees of 31 leaves on 434 columns, with 4,096 rows to
// predict.
func benchModel(b *testing.B) (text string, m *Model, x matrix) {
	b.Helper()
	s := made(4096, 434, 1)
	booster, m := fit(b, testLibrary(b), s, DefaultParams())
	text, err := booster.Text()
	if err != nil {
		b.Fatal(err)
	}
	return text, m, s.matrix
}

// BenchmarkPredict compares LightGBM's own prediction with the exported file's, on the same rows with the same number
// of threads.
func BenchmarkPredict(b *testing.B) {
	text, m, x := benchModel(b)
	for _, threads := range []int{1, 2} {
		booster, err := testLibrary(b).Load(text, threads)
		if err != nil {
			b.Fatal(err)
		}
		defer booster.Close()
		b.Run(fmt.Sprintf("lightgbm/threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				if _, err := booster.Predict(x.x, x.rows); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, x.rows)
		})
		b.Run(fmt.Sprintf("onnx/threads=%d", threads), func(b *testing.B) {
			s := testSession(b, m, threads)
			in := map[string]*onnx.Tensor{"rows": onnx.Float32s([]int64{int64(x.rows), int64(x.cols)}, x.x)}
			for b.Loop() {
				if _, err := s.Run(context.Background(), in); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, x.rows)
		})
	}
}

func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.N)*float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkTrain is one training of 20 trees, binning included.
func BenchmarkTrain(b *testing.B) {
	l := testLibrary(b)
	s := made(8192, 434, 1)
	p := DefaultParams()
	p.Rounds = 20
	for b.Loop() {
		booster, err := l.Train(b.Context(), s.x, s.rows, s.cols, s.label, nil, p, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := booster.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTrainRegressor is one training of a policy's trees: 100 rounds for four pairs, binning included.
func BenchmarkTrainRegressor(b *testing.B) {
	l := testLibrary(b)
	r := rand.New(rand.NewPCG(1, 1))
	s := targets{matrix: filled(8000, 384, func(int, int) float32 { return float32(r.NormFloat64()) }), pairs: 4}
	for i := range s.rows * s.pairs {
		row := s.row(i / s.pairs)
		loss := 0.0
		if float64(row[i%s.pairs]+row[8+i%s.pairs]) > r.NormFloat64() {
			loss = 1
		}
		s.y = append(s.y, loss)
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			p := DefaultRegressionParams(s.cols)
			p.Threads = threads
			for b.Loop() {
				if _, err := l.TrainRegressor(b.Context(), s.x, s.cols, s.y, nil, s.pairs, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("estimates", func(b *testing.B) {
		m, err := l.TrainRegressor(b.Context(), s.x, s.cols, s.y, nil, s.pairs, DefaultRegressionParams(s.cols))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := m.EstimatesAt(s.x, []int{25, 50, 100}); err != nil {
				b.Fatal(err)
			}
		}
		perRow(b, s.rows)
	})
}
