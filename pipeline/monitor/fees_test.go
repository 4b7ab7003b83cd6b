package monitor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
)

// withFees adds measured fees of 0.2 to 0.4 to a tensor.
func withFees(random *rand.Rand, t *costs.Tensor) *costs.Tensor {
	for range t.Loss {
		t.Fee = append(t.Fee, 0.2+0.2*random.Float32())
	}
	return t
}

// feeLog writes the outcomes of the policy's decisions. With a column of fees, every tenth is not known.
func feeLog(t *testing.T, m *Monitor, rows *costs.Tensor, fees bool) string {
	t.Helper()
	d, err := m.Decide(t.Context(), rows.Features, rows.Len())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("a,b,c,expert,advice,loss,fee\n")
	if !fees {
		b.Reset()
		b.WriteString("a,b,c,expert,advice,loss\n")
	}
	for n := range rows.Len() {
		j, k := rows.Actions.Pair(int(d.Action[n]))
		x := rows.Row(n)
		expert := strings.ReplaceAll(rows.Actions.Experts[j].Name, `"`, `""`)
		fmt.Fprintf(&b, `%v,%v,%v,"%s","%s",%v`, x[0], x[1], x[2], expert, rows.Actions.Advice[k].Name, rows.Losses(n)[d.Action[n]])
		switch {
		case fees && n%10 > 0:
			fmt.Fprintf(&b, ",%v", rows.Fee[n*rows.Actions.Len()+int(d.Action[n])])
		case fees:
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "log.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOutcomesAreComparedWithLikeOnes adds rows of the world of the baseline: outcome minus expectation is 0 on average and
// the level is that of the same quantity, whichever side has measured fees.
func TestOutcomesAreComparedWithLikeOnes(t *testing.T) {
	l, random := newLab(t), rand.New(rand.NewPCG(41, 42))
	plain := l.baseline
	measured := l.write(t, withFees(random, world(random, l.actions, 4000, 0, 0)))
	rows := withFees(random, world(random, l.actions, 2000, 0, 0))
	m := l.open(t, DefaultOptions())
	for name, c := range map[string]struct {
		baseline string
		fees     bool // of the log
		mean     float64
		unknown  int64
		noted    bool
	}{
		"fees on both sides":      {measured, true, 0.52, 200, false},
		"fees in the baseline":    {measured, false, 0.21, 0, true},
		"fees in the log":         {plain, true, 0.21, 0, false},
		"fees on neither of them": {plain, false, 0.21, 0, false},
	} {
		o := DefaultRunOptions()
		o.Policy, o.Baseline, o.In = storage.File(l.policy), storage.File(c.baseline), storage.File(feeLog(t, m, rows, c.fees))
		s, err := Run(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := s.Outcomes
		if got.Unknown != c.unknown || math.Abs(*got.Mean-c.mean) > 0.03 || math.Abs(*got.Mean-got.Alarm.Baseline) > 0.05 {
			t.Errorf("%s: unknown %d, mean %g, of the baseline %g", name, got.Unknown, *got.Mean, got.Alarm.Baseline)
		}
		if c.noted && (math.Abs(*got.Residual) > 0.05 || got.ADWIN.Expected == "the policy") {
			t.Errorf("%s: residual %g from %s", name, *got.Residual, got.ADWIN.Expected)
		}
		if noted := strings.Contains(strings.Join(s.Notes, " "), "have no measured fees"); noted != c.noted {
			t.Errorf("%s: %q", name, s.Notes)
		}
	}
}
