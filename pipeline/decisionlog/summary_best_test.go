package decisionlog

import (
	"strings"
	"testing"

	"pipe/costs"
)

// TestBestPairStays leaves the best pair out of some records: it stays the best, on the others, unless most lack it.
func TestBestPairStays(t *testing.T) {
	about := &PolicyInfo{Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Advice: []costs.Advice{{Name: "none"}},
	}}
	for lacks, want := range map[int]string{0: "b/none", 1: "b/none", 40: "b/none", 51: "a/none"} {
		var s *sums
		for n := range 100 {
			d := Decision{Record: &Record{
				Action: 2, Greedy: 2, Executed: -1, Keep: 1, Propensity: []float64{0, 0, 1}, Available: []bool{true, n >= lacks, true},
				ExpectedCost: []float32{0.5, 0.4, 0.6}, ExpertFees: make([]float64, 3), AdviceFees: make([]float64, 1),
			}, About: about}
			if s == nil {
				s = newSums(d)
			}
			s.add(d)
		}
		got := s.end()
		if got.BestFixed != want || want == "b/none" && (got.Saving.Rows != 100-lacks || got.SavingLacks != lacks) {
			t.Errorf("%d records lack b: against %s on %d rows, want %s", lacks, got.BestFixed, got.Saving.Rows, want)
		}
	}
}

// TestMeasuredFeesAreNotCompared: what is expected with measured fees is not compared with outcomes, which have none.
func TestMeasuredFeesAreNotCompared(t *testing.T) {
	about := &PolicyInfo{Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}},
	}}
	loss := 0.5
	for i, meta := range []map[string]string{nil, {costs.MeterKey: "{}"}, {costs.MeterKey: "{}"}} {
		about.Meta = meta
		d := Decision{Record: &Record{
			Executed: -1, Keep: 1, Propensity: []float64{0.5, 0.5}, Available: []bool{true, true},
			ExpectedCost: []float32{0.5, 0.4}, ExpectedLoss: []float32{0.25, 0.2}, ExpertFees: make([]float64, 2), AdviceFees: make([]float64, 1),
		}, About: about, Outcome: &Outcome{Loss: &loss}}
		if i == 2 { // fees of usage are apart
			d.UsagePrices = make([]float64, 10)
		}
		s := newSums(d)
		s.add(d)
		got, rows := s.end(), 1
		if i == 1 {
			rows = 0
		}
		if i == 2 && got.Measured.Mean != 0.75 {
			t.Errorf("a measured cost of %g", got.Measured.Mean)
		}
		if got.MeasuredFees != (i == 1) || got.Measured.Rows != rows || got.Believed.Rows != rows || got.Proven.Rows != rows || got.Losses != 1 || got.Expected.Rows != 1 || got.Pairs[0].Loss.Rows != 1 {
			t.Errorf("%v: %+v", meta, got)
		}
	}
}

// TestFewRowsHaveNoInterval: an interval is stated from 100 rows on, and rows with weights count for fewer.
func TestFewRowsHaveNoInterval(t *testing.T) {
	about := &PolicyInfo{Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}},
	}}
	for n, want := range map[int]bool{2: false, 99: false, 100: true} {
		var s *sums
		for i := range n {
			loss := float64(i % 2)
			d := Decision{Record: &Record{
				Action: i % 2, Executed: -1, Keep: 1, Propensity: []float64{0.5, 0.5}, Available: []bool{true, true},
				ExpectedCost: []float32{0.5, 0.4}, ExpertFees: make([]float64, 2), AdviceFees: make([]float64, 1),
			}, About: about, Outcome: &Outcome{Loss: &loss}}
			if s == nil {
				s = newSums(d)
			}
			s.add(d)
		}
		got := s.end()
		for name, m := range map[string]WeightedMean{"expected cost": got.Expected, "measured cost": got.Measured, "saving": got.Saving} {
			if (m.Low != nil) != want || (m.High != nil) != want || strings.Contains(m.Text(), "95%") != want {
				t.Errorf("%s of %d rows: %s", name, n, m.Text())
			}
		}
		if got.Proven.Rows != n || got.Proven.Low != nil { // half of the rows carry the weight
			t.Errorf("measured saving of %d rows: %s", n, got.Proven.Text())
		}
	}
	uneven := &weighted{}
	for i := range 1000 {
		uneven.add(float64(i%2), 1+999*float64(i%100/99))
	}
	if m := uneven.mean(); m.Low != nil || m.Rows != 1000 {
		t.Errorf("10 of 1,000 rows have the weight: %s, %v effective", m.Text(), uneven.effective())
	}
}
