package fromlog

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// A fee of a pair that a request had is in no cost of an export, whose costs are at one price list, and in no loss of a tensor.
func TestPairFees(t *testing.T) {
	folder, out := t.TempDir(), t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(9)
	if err := to.Policy(w.about); err != nil {
		t.Fatal(err)
	}
	fees := [][]float64{nil, {0.5, 0.25, 0, 1}}
	for n := range 8 { // both kinds of fees for every pair
		r, o := w.step(n)
		r.PairFees, r.Available[2] = fees[n%2], true
		r.Action, r.Executed, r.Propensity = 0, n/2, []float64{0.25, 0.25, 0.25, 0.25} // a fallback answers
		loss := float64(n)
		o.Correct, o.Loss = nil, &loss
		if err := to.Add(r); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Outcome(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Fallbacks = true
	o.Log, o.Partial, o.DSJSON, o.OBP = storage.File(folder), storage.File(filepath.Join(out, "p.parquet")), storage.File(filepath.Join(out, "l.dsjson")), storage.File(filepath.Join(out, "l.json"))
	r, err := Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Repriced != 4 || r.Exported != 8 {
		t.Errorf("%d of %d decisions were made at other prices", r.Repriced, r.Exported)
	}
	checkPairFees(t, o)
	s, err := decisionlog.Summarize(folder)
	if err != nil {
		t.Fatal(err)
	}
	// Losses 0 to 7, twice 0, 0.15, 0.2, 0.35 and once the fees of pairs.
	if p := s.Policies[0]; p.PairFees != 4 || math.Abs(p.Measured.Mean-(28+2*0.7+1.75)/8) > 1e-9 {
		t.Errorf("%d records with fees of pairs, measured cost %s", p.PairFees, p.Measured.Text())
	}
}

// checkPairFees compares what was written with the plain sums: losses are the numbers of the rows.
func checkPairFees(t *testing.T, o Options) {
	t.Helper()
	text, err := os.ReadFile(o.DSJSON.String())
	if err != nil {
		t.Fatal(err)
	}
	var dictionary struct{ Reward []float64 }
	rewards, err := os.ReadFile(o.OBP.String())
	if err == nil {
		err = json.Unmarshal(rewards, &dictionary)
	}
	if err != nil || len(dictionary.Reward) != 8 {
		t.Fatal(dictionary, err)
	}
	tensor, err := costs.Read(t.Context(), o.Partial, costs.ReadOptions{Unknown: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		var row dsjsonRow
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		ofPair := func(i int) float64 { return []float64{0, 0.15, 0.2, 0.35}[i] }
		for i, a := range row.Context.Multi {
			if fee := a.Fee["fee"].(float64); math.Abs(fee-ofPair(i)) > 1e-12 {
				t.Errorf("row %d: the fee of %s is %v, want %v", n, a.Tag, fee, ofPair(i))
			}
		}
		if want := float64(n) + ofPair(n/2); math.Abs(row.Cost-want) > 1e-12 || dictionary.Reward[n] != -row.Cost {
			t.Errorf("row %d: cost %v, reward %v, want %v", n, row.Cost, dictionary.Reward[n], want)
		}
		if loss := tensor.Losses(n)[n/2]; loss != float32(n) {
			t.Errorf("row %d: loss %v", n, loss)
		}
		n++
	}
	if n != 8 {
		t.Errorf("%d rows", n)
	}
}
