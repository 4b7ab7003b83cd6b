package decisionlog

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// What a policy has in common with its tensor is read from the lines and from Parquet. A value that is too long is left out,
// and costs no record.
func TestMetaOfPolicies(t *testing.T) {
	folder := t.TempDir()
	w, err := Open(folder, quick())
	if err != nil {
		t.Fatal(err)
	}
	p := testPolicy(2, 2, 3)
	p.Meta = map[string]string{"pipe.feature_names": `["a","<b>","c"]`, "pipe.money": strings.Repeat("x", maxMeta+1)}
	if err := w.Policy(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(testRecord(rand.New(rand.NewPCG(1, 2)), &p)); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		log, err := Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for d, err := range log.Decisions() {
			if n++; err != nil || !maps.Equal(d.About.Meta, map[string]string{"pipe.feature_names": p.Meta["pipe.feature_names"]}) {
				t.Errorf("%v, %v", d.About.Meta, err)
			}
		}
		if n != 1 || log.Counts().Damaged > 0 {
			t.Errorf("%d records, %+v", n, log.Counts())
		}
	}
	for w.Stats().Queued > 0 {
		time.Sleep(time.Millisecond)
	}
	check()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check()
}
