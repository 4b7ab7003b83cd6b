package decisionlog

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// A long name from a service and many calls are cut and marked, and the record stays. One that contradicts itself is dropped
// and counted.
func TestBoundedRecords(t *testing.T) {
	folder, p := t.TempDir(), testPolicy(2, 2, 8)
	w := openTest(t, folder, quick(), p)
	rng := rand.New(rand.NewPCG(7, 7))
	long, fits, wrong := testRecord(rng, &p), testRecord(rng, &p), testRecord(rng, &p)
	long.Model, long.Request, long.Attempts = strings.Repeat("ö", 1000), strings.Repeat("r", 2000), make([]Attempt, 70)
	for n := range long.Attempts {
		long.Attempts[n].Status = n + 1
	}
	fits.Model, fits.Attempts = strings.Repeat("m", maxText), make([]Attempt, maxAttempts)
	wrong.Action = 99
	for _, r := range []*Record{long, fits} {
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(long.Attempts) != 70 || len(long.Model) != 2000 {
		t.Error("the caller's record was changed")
	}
	if err := w.Add(wrong); !errors.As(err, new(*RecordError)) {
		t.Errorf("a contradiction: %v", err)
	}
	if s := w.Stats(); s.Dropped != 1 || s.LastError == "" {
		t.Errorf("%+v", s)
	}
	if _, err := w.Outcome(Outcome{ID: long.ID, Label: "l"}); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list, _ := readAll(t, folder)
	if len(list) != 2 {
		t.Fatalf("%d records", len(list))
	}
	a := list[0]
	if a.Model != strings.Repeat("ö", 510)+cutMark || !strings.HasSuffix(a.Request, cutMark) || len(a.Request) != maxText {
		t.Errorf("model %q, request %q", a.Model, a.Request)
	}
	if n := len(a.Attempts); n != 64 || a.Attempts[63].Status != 70 || !strings.Contains(a.Attempts[0].Error, "6 earlier calls") {
		t.Errorf("%d attempts: %+v", n, a.Attempts[0])
	}
	if b := list[1]; b.Model != fits.Model || len(b.Attempts) != maxAttempts || b.Attempts[0].Error != "" {
		t.Errorf("a record that fits: %+v", b.Record)
	}
}
