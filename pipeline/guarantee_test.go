package pipeline_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/models/risk"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/calibrate"
	"pipe/pipeline/replay"
	"pipe/pipeline/train"
)

// TestRiskOnRealTables trains an any-price policy on half of the rows of a table, once, and splits the other half many times into 40%
// calibration rows and 60% later rows: the mean loss of accepted later decisions is above alpha in at most 5% of the splits, at the
// prices of the file and at random prices, but for conformal risk control, which promises another thing. $PIPE_SPLITS, such as
// 500, sets the number of splits and adds two tables.
func TestRiskOnRealTables(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on real tables")
	}
	splits, tables := 60, 1
	if n, err := strconv.Atoi(os.Getenv("PIPE_SPLITS")); err == nil && n > 0 {
		splits, tables = n, 3
	}
	rt := orttest.Open(t, 0)
	for _, c := range []struct {
		config string
		alpha  float64
	}{
		{"import-frugalml-ferplus.yaml", 0.1},
		{"import-mmlu-pro.yaml", 0.2},
		{"import-cifar10.yaml", 0.25},
	}[:tables] {
		table := realTable(t, c.config)
		pool := halve(table, 1)
		model := anyPriceModel(t, rt, table)
		for _, random := range []bool{false, true} {
			decided := decisionsOn(t, rt, model, table, pool, random)
			for _, method := range []risk.Method{risk.LTT, risk.RCPS, risk.CRC} {
				s := risk.Settings{Risk: c.alpha, Confidence: 0.95, Method: method, Bound: 1, Starts: 5}
				r := manySplits(t, decided, s, splits)
				t.Logf("%s, alpha %g, random prices %v, %s: %.1f%% of %d splits above, %.1f%% accepted (standard deviation %.1f), nothing accepted in %d, mean risk %.4f, mean loss per decision %.4f",
					c.config, c.alpha, random, method, 100*float64(r.above)/float64(splits), splits, 100*r.accepted, 100*r.spread, r.none, r.risk, r.joint)
				limit := 0.05 + 2*math.Sqrt(0.05*0.95/float64(splits))
				if method != risk.CRC && float64(r.above)/float64(splits) > limit {
					t.Errorf("%s: the risk is above %g in %d of %d splits", c.config, c.alpha, r.above, splits)
				}
				if method == risk.CRC && r.joint > c.alpha+3*math.Sqrt(c.alpha/float64(len(pool))) {
					t.Errorf("%s: the loss per decision is %.4f on average, promised are %g", c.config, r.joint, c.alpha)
				}
			}
		}
	}
}

// halve makes half of the rows training rows and returns the others, which become test rows.
func halve(t *costs.Tensor, seed uint64) (pool []int) {
	for i, n := range rand.New(rand.NewPCG(seed, 0)).Perm(t.Len()) {
		t.Splits[n] = costs.Train
		if i%2 == 0 {
			t.Splits[n] = costs.Test
			pool = append(pool, n)
		}
	}
	return pool
}

func anyPriceModel(t *testing.T, rt *ort.Runtime, table *costs.Tensor) *policy.Decider {
	t.Helper()
	s := train.DefaultSettings()
	s.Guarantee.Risk = 0.1 // so that estimates are kept where the guard falls back
	s.AnyPrice, s.Methods = true, []string{}
	p, _, err := train.Policies(context.Background(), rt, table, s, models.CheckpointPolicy{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p[0].Export()
	if err != nil {
		t.Fatal(err)
	}
	d, err := policy.NewDecider(rt, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// decisionsOn decides the rows at the prices of the file, or at random ones.
func decisionsOn(t *testing.T, rt *ort.Runtime, d *policy.Decider, table *costs.Tensor, rows []int, random bool) (out risk.Decisions) {
	t.Helper()
	add := func(row int, action int, loss []float32) {
		out.Score = append(out.Score, loss[action])
		out.Loss = append(out.Loss, float64(table.Losses(row)[action]))
	}
	pairs := table.Actions.Len()
	if !random {
		l, err := replay.At(t.Context(), d, d.Info().PriceAt(table.Actions, 1, nil), table, rows)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range rows {
			add(n, l.Action[i], l.Loss[i*pairs:(i+1)*pairs])
		}
		return out
	}
	_, prices := calibrate.RandomPrices(d.Info(), len(rows), 5)
	for i, n := range rows {
		l, err := d.DecideAt(t.Context(), prices[i], table.Row(n), 1)
		if err != nil {
			t.Fatal(err)
		}
		add(n, int(l.Action[0]), l.Loss)
	}
	return out
}

// ofSplits are figures over many splits.
type ofSplits struct {
	above, none                   int
	accepted, spread, risk, joint float64
}

func manySplits(t *testing.T, all risk.Decisions, s risk.Settings, splits int) (r ofSplits) {
	t.Helper()
	random := rand.New(rand.NewPCG(35, 0))
	n := len(all.Loss)
	squares, with := 0.0, 0.0
	for range splits {
		order := random.Perm(n)
		cut := 2 * n / 5
		rows := risk.Rows{At: []risk.Decisions{pick(all, order[:cut])}, Cluster: make([]int, cut), Binary: true}
		for i := range rows.Cluster {
			rows.Cluster[i] = i
		}
		later := pick(all, order[cut:])
		c, ok, err := risk.Choose(risk.Thresholds(later.Score), rows, s)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			r.none++
			continue
		}
		count, sum := 0.0, 0.0
		for i, score := range later.Score {
			if score <= c.Threshold {
				count++
				sum += later.Loss[i]
			}
		}
		share := count / float64(len(later.Score))
		r.accepted, squares = r.accepted+share/float64(splits), squares+share*share/float64(splits)
		r.joint += sum / float64(len(later.Score)) / float64(splits)
		if count > 0 {
			with++
			r.risk += sum / count
		}
		if sum > s.Risk*count {
			r.above++
		}
	}
	r.spread, r.risk = math.Sqrt(max(0, squares-r.accepted*r.accepted)), r.risk/with
	return r
}

func pick(d risk.Decisions, rows []int) (out risk.Decisions) {
	for _, n := range rows {
		out.Score, out.Loss = append(out.Score, d.Score[n]), append(out.Loss, d.Loss[n])
	}
	return out
}
