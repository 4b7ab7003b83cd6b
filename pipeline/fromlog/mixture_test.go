package fromlog

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// mixed writes a log of a policy and its canary, which gets a share of .25 and always takes another pair. change changes records.
func mixed(t *testing.T, change func(n int, r *decisionlog.Record)) string {
	t.Helper()
	folder := t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(4)
	canary := w.about
	canary.Name, canary.Digest = "canary", "sha256:canary"
	for _, p := range []decisionlog.PolicyInfo{w.about, canary} {
		if err := to.Policy(p); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 8 {
		r, o := w.step(n)
		r.Share, r.Propensity, r.OwnPropensity, r.Action = 0.25, []float64{0.75, 0.25, 0, 0}, []float64{1, 0, 0, 0}, 0
		if n%4 == 3 {
			r.Policy, r.Digest, r.Canary, r.Action, r.Greedy, r.OwnPropensity = canary.Name, canary.Digest, true, 1, 1, []float64{0, 1, 0, 0}
		}
		change(n, r)
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
	return folder
}

// alone makes records as of a log in which the choice of the other policy is not known.
func alone(share float64) func(n int, r *decisionlog.Record) {
	return func(_ int, r *decisionlog.Record) {
		r.Share, r.Propensity, r.OwnPropensity = share, r.OwnPropensity, nil
	}
}

// exported are the lines of a log as DSJSON, with the report.
func exported(t *testing.T, folder, policy string) (rows []dsjsonRow, r *Result) {
	t.Helper()
	o := DefaultOptions()
	o.Log, o.Policy, o.DSJSON, o.OBP = storage.File(folder), policy, storage.File(filepath.Join(t.TempDir(), "l.dsjson")), storage.File(filepath.Join(t.TempDir(), "l.json"))
	r, err := Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	rows = linesOf(t, o.DSJSON.String())
	sameColumns(t, o.OBP.String(), rows)
	return rows, r
}

// linesOf are the lines of a file of DSJSON.
func linesOf(t *testing.T, path string) (rows []dsjsonRow) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var row dsjsonRow
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// sameColumns compares the dictionary with the lines.
func sameColumns(t *testing.T, path string, rows []dsjsonRow) {
	t.Helper()
	var of struct {
		PScore []float64 `json:"pscore"`
		Policy []string  `json:"policy"`
		Canary []bool    `json:"canary"`
		Share  []*float64
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err != nil || len(of.Policy) != len(rows) || len(of.Share) != len(rows) {
		t.Fatalf("%+v, %v", of, err)
	}
	for n, row := range rows {
		if of.PScore[n] != row.Probability || of.Policy[n] != row.Policy || of.Canary[n] != row.Canary || (of.Share[n] == nil) != (row.Share == nil) {
			t.Errorf("row %d: %+v, %+v", n, of, row)
		}
	}
}

// Exports have the propensities of a policy and its canary together, and of a policy alone where only its decisions are asked for.
func TestMixtures(t *testing.T) {
	folder := mixed(t, func(int, *decisionlog.Record) {})
	for policy, want := range map[string][2]float64{"": {0.75, 0.25}, "greedy": {1, 0}, "canary": {0, 1}} {
		rows, r := exported(t, folder, policy)
		if wanted := map[string]int{"": 8, "greedy": 6, "canary": 2}[policy]; len(rows) != wanted || r.Unmixed != 0 {
			t.Fatalf("%q: %d rows, %+v", policy, len(rows), r)
		}
		for _, row := range rows {
			p := want[0]
			if row.Canary {
				p = want[1]
			}
			if row.Probability != p || *row.Share != 0.25 || row.Canary != (row.Policy == "canary") || row.Canary != (row.State.Model == "sha256:canary") {
				t.Errorf("%q: %+v", policy, row)
			}
		}
	}
	s, err := decisionlog.Summarize(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Policies { // of one policy each, of which no other pair could be chosen
		if p.Explores || p.Pairs[0].Probability+p.Pairs[1].Probability != 1 || p.Pairs[0].Probability == 0.75 {
			t.Errorf("%+v", p)
		}
	}
}

// Exports say which decisions have no propensities of both policies, if a canary decided.
func TestNoMixtures(t *testing.T) {
	live := func(_ int, r *decisionlog.Record) {
		r.Policy, r.Digest, r.Canary, r.Action = "greedy", "sha256:planted", false, 0
		r.Share, r.Propensity, r.OwnPropensity = decisionlog.ShareUnknown, []float64{1, 0, 0, 0}, nil
	}
	for name, c := range map[string]struct {
		change func(n int, r *decisionlog.Record)
		policy string
		want   int
	}{
		"other failed":                   {alone(0.25), "", 8},
		"one policy":                     {alone(0.25), "canary", 0},
		"earlier version":                {alone(decisionlog.ShareUnknown), "", 8},
		"earlier version, one policy":    {alone(decisionlog.ShareUnknown), "greedy", 0},
		"earlier version, and no canary": {live, "", 0},
	} {
		rows, r := exported(t, mixed(t, c.change), c.policy)
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if r.Unmixed != c.want || strings.Contains(text.String(), "not mixtures") != (c.want > 0) {
			t.Errorf("%s: %d of %d rows\n%s", name, r.Unmixed, len(rows), &text)
		}
		if share := rows[0].Share; share != nil && *share != 0.25 {
			t.Errorf("%s: a share of %v", name, *share)
		}
	}
}
