package decisionlog

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// An outcome can be corrected, again and again, also after a restart and in Parquet: the last one holds.
func TestReplace(t *testing.T) {
	folder, p, rng := t.TempDir(), testPolicy(2, 2, 3), rand.New(rand.NewPCG(3, 1))
	r := testRecord(rng, &p)
	for run := range 3 {
		w := openTest(t, folder, quick(), p)
		if run == 0 {
			if err := w.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		keep := func(loss float64, replace bool, want Kept) {
			t.Helper()
			if got, err := w.Keep(Outcome{ID: r.ID, Loss: &loss, Replace: replace}); err != nil || got != want {
				t.Fatalf("run %d, loss %v: %v, %v", run, loss, got, err)
			}
		}
		first := []Kept{KeptNew, KeptBefore, KeptBefore}[run]
		keep(1+float64(run), run == 0, first) // there is nothing to replace at first
		if _, err := w.Outcome(Outcome{ID: r.ID, Loss: number(9)}); !errors.As(err, new(*ConflictError)) {
			t.Fatalf("a contradiction: %v", err)
		}
		keep(1+float64(run), true, KeptBefore)
		keep(8, true, KeptInPlace)
		keep(2+float64(run), true, KeptInPlace)
		keep(2+float64(run), false, KeptBefore)
		list, l := readAll(t, folder)
		if *list[0].Outcome.Loss != 2+float64(run) || l.Counts().Replaced != 2*(run+1) || l.Counts().Unmatched != 0 || l.Counts().Conflicts != 0 || l.Counts().Outcomes != 1 {
			t.Errorf("run %d: %+v, %+v", run, list[0].Outcome, l.Counts())
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if list, l := readAll(t, folder); *list[0].Outcome.Loss != 4 || l.Counts().Replaced != 6 {
		t.Errorf("%+v, %+v", list[0].Outcome, l.Counts())
	}
}
