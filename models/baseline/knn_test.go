package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/onnx/ort/orttest"
)

// plantedTensor: on one half of the inputs the first expert is right, on the other half the second; advice costs
// something and does nothing.
func plantedTensor(rows, dim int) (t *costs.Tensor, train, query []int) {
	rng := rand.New(rand.NewPCG(4, 4))
	t = coststest.Tensor(coststest.Actions([]float64{0, 0}, []float64{0, 0.5}))
	t.Dim = dim
	for n := range rows {
		x := coststest.Floats(rng, dim)
		right := 0
		if x[0] > 0 {
			right = 1
		}
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(n)), append(t.Splits, costs.Train)
		t.Features = append(t.Features, x...)
		for i := range 4 {
			loss := float32(1)
			if i/2 == right != (rng.IntN(10) == 0) { // a tenth of the labels is wrong
				loss = 0
			}
			t.Loss = append(t.Loss, loss)
		}
		if n%4 == 0 {
			query = append(query, n)
		} else {
			train = append(train, n)
		}
	}
	return t, train, query
}

func TestKNNFindsPlantedStructure(t *testing.T) {
	rt := orttest.Open(t, 0)
	tensor, train, query := plantedTensor(4000, 3)
	k, err := FitKNN(context.Background(), rt, tensor, train, query, DefaultKNNSettings(1))
	if err != nil {
		t.Fatal(err)
	}
	actions, neighbours := k.Decide(1)
	loss := tensor.TrueLoss(query, actions, 1)
	if loss > 0.16 { // 0.10 is Bayes, 0.5 the best constant
		t.Errorf("true loss %v with %d neighbours", loss, neighbours)
	}
	if neighbours < 10 {
		t.Errorf("%d neighbours on labels of which a tenth is wrong", neighbours)
	}
	for _, i := range actions {
		if i%2 == 1 {
			t.Fatal("buys advice that is useless at this price")
		}
	}
}

// Every row is its own nearest neighbour, so with one neighbour the result on the training rows is the oracle, in every
// regime, with fees.
func TestKNNWithOneNeighbourRepeatsTheTable(t *testing.T) {
	rt := orttest.Open(t, 0)
	tensor, train, _ := plantedTensor(300, 4)
	tensor.Fee = make([]float32, len(tensor.Loss))
	for i := range tensor.Fee {
		tensor.Fee[i] = float32(i%7) / 16
	}
	tensor.Actions.Unavailable = []costs.Pair{{Expert: 0, Advice: 1}}
	for n := range tensor.Len() {
		tensor.Loss[n*4+1] = float32(math.NaN())
	}
	s := DefaultKNNSettings(2)
	s.Grid = []int{1}
	k, err := FitKNN(context.Background(), rt, tensor, train, train, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, lambda := range []float64{0, 1} {
		got, neighbours := k.Decide(lambda)
		want, err := run(t, "oracle", Input{Tensor: tensor, Rows: train, Lambda: lambda})
		if err != nil || neighbours != 1 || !slices.Equal(got, want) {
			t.Errorf("lambda %v: %d neighbours, actions differ from the oracle (%v)", lambda, neighbours, err)
		}
	}
}

func TestFitKNNRefuses(t *testing.T) {
	rt := orttest.Open(t, 0)
	tensor, train, query := plantedTensor(40, 2)
	ctx, cancel := context.WithCancel(context.Background())
	ok := DefaultKNNSettings(1)
	if _, err := FitKNN(ctx, rt, tensor, train[:1], query, ok); err == nil {
		t.Error("one training row: no error")
	}
	if _, err := FitKNN(ctx, rt, tensor, train, query, KNNSettings{Grid: []int{0}, InnerShare: 0.2}); err == nil {
		t.Error("no neighbours: no error")
	}
	if _, err := FitKNN(ctx, rt, tensor, train, query, KNNSettings{Grid: []int{5}, InnerShare: 1}); err == nil {
		t.Error("inner share 1: no error")
	}
	if k, err := FitKNN(ctx, rt, tensor, train[:2], query, ok); err != nil {
		t.Errorf("two training rows: %v", err)
	} else if _, n := k.Decide(1); n != 1 {
		t.Errorf("two training rows: %d neighbours", n)
	}
	cancel()
	if _, err := FitKNN(ctx, rt, tensor, train, query, ok); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func BenchmarkFitKNN(b *testing.B) {
	rt := orttest.Open(b, 0)
	for _, s := range []struct{ rows, dim int }{{13333, 64}} {
		tensor, train, query := plantedTensor(s.rows, s.dim)
		b.Run(fmt.Sprintf("train=%d/query=%d/dim=%d", len(train), len(query), s.dim), func(b *testing.B) {
			for b.Loop() {
				if _, err := FitKNN(context.Background(), rt, tensor, train, query, DefaultKNNSettings(1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A row whose distances overflow is named in the error, because its neighbours cannot be ordered.
func TestKNNRefusesRowsBeyondDistances(t *testing.T) {
	const rows = 40
	for _, c := range []struct {
		at   int // the row; the last ten rows are the queries
		v    float32
		want bool
	}{{35, 1e18, false}, {35, 3e38, true}, {35, -3e38, true}, {3, 3e38, false}} {
		tensor := &costs.Tensor{Actions: coststest.Actions([]float64{0, 0}, []float64{0}), Dim: 2}
		var train, query []int
		for n := range rows {
			tensor.IDs = append(tensor.IDs, fmt.Sprintf("r%d", n))
			tensor.Features = append(tensor.Features, float32(n%7), float32(n%3))
			tensor.Loss = append(tensor.Loss, float32(n%2), float32(1-n%2))
			if n < 30 {
				train = append(train, n)
			} else {
				query = append(query, n)
			}
		}
		tensor.Features[2*c.at] = c.v
		k, err := FitKNN(context.Background(), orttest.Open(t, 0), tensor, train, query, DefaultKNNSettings(1))
		var bad *costs.DataError
		switch {
		case c.want && (!errors.As(err, &bad) || bad.Row != c.at+1 || !strings.Contains(err.Error(), `"r35"`)):
			t.Errorf("%g in row %d: %v", c.v, c.at, err)
		case !c.want && err != nil:
			t.Errorf("%g in row %d: %v", c.v, c.at, err)
		case err == nil:
			if actions, _ := k.Decide(1); len(actions) != len(query) {
				t.Errorf("%d actions", len(actions))
			}
		}
	}
}

// TestKNNKeepsRowsTogether: the rows that choose the number of neighbours have
// no copies among the neighbours.
func TestKNNKeepsRowsTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	tensor := coststest.Tensor(coststest.Actions([]float64{0, 0.02, 0.01}, []float64{0, 0.03, 0.06}))
	tensor.Dim = 8
	for n := range 60 { // pairs differ in their mean loss, and features have no information
		tensor.IDs, tensor.Splits = append(tensor.IDs, fmt.Sprint(n)), append(tensor.Splits, costs.Train)
		tensor.Features = append(tensor.Features, coststest.Floats(r, tensor.Dim)...)
		for i := range tensor.Actions.Len() {
			loss := float32(0)
			if r.IntN(10) <= i {
				loss = 1
			}
			tensor.Loss = append(tensor.Loss, loss)
		}
	}
	tensor = coststest.Repeat(tensor, 5)
	rows := tensor.Rows(costs.Train)
	drawn, rest := splitRows(rows, tensor.Clusters(rows), 0.2, 1)
	if len(drawn) != 60 || len(drawn)+len(rest) != len(rows) {
		t.Fatalf("%d of %d rows are drawn", len(drawn), len(rows))
	}
	if features, _ := tensor.Shared(drawn, rest, nil); features != 0 {
		t.Errorf("%d rows have copies on the other side", features)
	}
	// With copies, one neighbour looks like an oracle; it must not be chosen.
	k, err := FitKNN(context.Background(), orttest.Open(t, 0), tensor, rows, rows[:5], DefaultKNNSettings(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, neighbours := k.Decide(0); neighbours == 5 {
		t.Errorf("%d neighbours are chosen on noise in five copies", neighbours)
	}
	for n := range tensor.Features {
		tensor.Features[n] = 1
	}
	if k, err = FitKNN(context.Background(), orttest.Open(t, 0), tensor, rows, rows[:5], DefaultKNNSettings(1)); err != nil {
		t.Fatal(err)
	}
	if _, neighbours := k.Decide(0); neighbours != 300 {
		t.Errorf("without any difference between rows %d neighbours are chosen", neighbours)
	}
}
