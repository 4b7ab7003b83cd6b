package decisionlog

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
)

// oldLog is a copy of a log that was written before records had fees of pairs: a Parquet segment and an open one.
func oldLog(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "old"))); err != nil {
		t.Fatal(err)
	}
	return folder
}

// checkOld compares the records of oldLog with what was written then.
func checkOld(t *testing.T, list []Decision) {
	t.Helper()
	ids := []string{"old-0", "old-1", "old-2", "old-3", "old-4"}
	if len(list) < len(ids) {
		t.Fatalf("%d records", len(list))
	}
	for n, id := range ids {
		d := list[n]
		if d.ID != id || d.PairFees != nil || d.Share != ShareUnknown || d.OwnPropensity != nil || d.Action != n%3 || d.Features[0] != float32(n) || (d.ExpectedCost != nil) != (n%2 == 0) {
			t.Errorf("%+v", d.Record)
		}
		if d.FeeOf(1) != 0.0625 || d.FeeOf(3) != 1.0625 {
			t.Errorf("fees %v, %v", d.FeeOf(1), d.FeeOf(3))
		}
	}
}

// Logs without the column of fees of pairs are read, also beside segments that have it, and their lines become Parquet.
func TestOldLog(t *testing.T) {
	folder := oldLog(t)
	list, _ := readAll(t, folder)
	checkOld(t, list)
	about := *list[0].About
	w := openTest(t, folder, quick(), about)
	r := *list[0].Record
	r.ID, r.PairFees = NewID(), []float64{0, 0.5, 0, 0}
	if err := w.Add(&r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list, l := readAll(t, folder)
	checkOld(t, list)
	if len(list) != 6 || l.Counts().Segments != 3 || l.Counts().Damage != (Damage{}) {
		t.Fatalf("%d records, %+v", len(list), l.Counts())
	}
	if d := list[5]; !slices.Equal(d.PairFees, r.PairFees) || d.FeeOf(1) != 0.5625 || d.FeeOf(0) != 0 {
		t.Errorf("%+v", d.Record)
	}
}

// A record without fees of pairs has the line that it had before there were such fees, byte for byte.
func TestOldLines(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "old", "decisions-00000002.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		body, err := unseal(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		if kindOf(body) != recordLine {
			continue
		}
		r, err := readRecord(body)
		if err != nil {
			t.Fatal(err)
		}
		if again := appendRecord(nil, r); !bytes.Equal(again, line) {
			t.Errorf("%s became %s", line, again)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d records", n)
	}
}

// Fees of pairs that are all 0 are as none, in lines and in Parquet.
func TestZeroPairFees(t *testing.T) {
	folder, p := t.TempDir(), testPolicy(2, 2, 3)
	w := openTest(t, folder, quick(), p)
	rng := rand.New(rand.NewPCG(4, 4))
	const n = 6
	for i := range n {
		r := testRecord(rng, &p)
		r.PairFees = [][]float64{nil, make([]float64, 4), {0, 0, 0, 1e-30}}[i%3]
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	check := func(form string) {
		list, _ := readAll(t, folder)
		if len(list) != n {
			t.Fatalf("%s: %d records", form, len(list))
		}
		for i, d := range list {
			if want := i%3 == 2; (d.PairFees != nil) != want || want && !slices.Equal(d.PairFees, []float64{0, 0, 0, 1e-30}) {
				t.Errorf("%s: record %d has %v", form, i, d.PairFees)
			}
		}
	}
	for _, bad := range [][]float64{{}, {1}, {1, 2, 3, 4, 5, 6, 7}, {-1, 0, 0, 0, 0, 0}, {0.5, 0, 0, 0, 0, 0}, {1e300, 0, 0, 0, 0, 0}} {
		r := testRecord(rng, &p)
		if r.TokenParts = bad; w.Add(r) == nil {
			t.Errorf("%v are logged", bad)
		}
	}
	waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 })
	check("lines")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("Parquet")
}

// Prices of usage are kept in lines and in Parquet. The fee of a pair is then what the policy expected.
func TestUsagePrices(t *testing.T) {
	folder, p := t.TempDir(), testPolicy(2, 2, 3)
	w := openTest(t, folder, quick(), p)
	rng := rand.New(rand.NewPCG(5, 4))
	prices := FlatPrices([costs.Quantities][]float64{costs.TokensIn: {1, 0}, costs.TokensOut: {2.5, 0}}, 2)
	for i := range 4 {
		r := testRecord(rng, &p)
		r.ExpectedLoss, r.ExpectedCost, r.Time = []float32{1, 1, 1, 1}, []float32{3, 3, 3, 3}, int64(i)
		r.Available = []bool{true, true, true, true}
		if i%2 == 1 {
			r.UsagePrices, r.TokenParts = prices, []float64{1, 0, 0, 3, 0, 5}
		}
		r.Usage = Usage{In: 9, Cached: 4 * int64(i%2), Out: 7, Known: true, CachedKnown: i%2 == 1}
		if i == 3 {
			r.ExpectedLoss, r.ExpectedCost = nil, nil
		}
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	check := func(form string) {
		list, l := readAll(t, folder)
		if len(list) != 4 || l.Counts().Damage != (Damage{}) {
			t.Fatalf("%s: %d records", form, len(list))
		}
		for i, d := range list {
			if want := [][]float64{nil, prices}[i%2]; !slices.Equal(d.UsagePrices, want) || (d.UsagePrices == nil) != (want == nil) {
				t.Errorf("%s: record %d has %v", form, i, d.UsagePrices)
			}
			if want := [][]float64{nil, {1, 0, 0, 3, 0, 5}}[i%2]; !slices.Equal(d.TokenParts, want) || (d.TokenParts == nil) != (want == nil) {
				t.Errorf("%s: record %d has %v", form, i, d.TokenParts)
			}
			if u := d.Usage; u != (Usage{9, 4 * int64(i%2), 7, true, i%2 == 1}) {
				t.Errorf("%s: record %d used %+v", form, i, u)
			}
		}
		if fee, none := list[1].FeeOf(2), list[3].FeeOf(2); fee != 2 || none == none {
			t.Errorf("%s: fees %g and %g", form, fee, none)
		}
	}
	waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 })
	check("lines")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("Parquet")
}

// Fields of sessions come back from lines and from Parquet. Records without a session have the lines and columns of before.
func TestSessions(t *testing.T) {
	folder := oldLog(t)
	list, _ := readAll(t, folder)
	w := openTest(t, folder, quick(), *list[0].About)
	var want []Record
	for i, kept := range []string{"", "price", "tool_loop"} {
		r := *list[0].Record
		r.ID, r.Session, r.Turn, r.Kept = NewID(), "0123456789abcdef", i+1, kept
		if r.SwitchCostKnown = i > 0; r.SwitchCostKnown {
			r.SwitchCost = float64(i) * -0.25
		}
		want = append(want, r)
		if err := w.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	plain := *list[0].Record
	plain.ID = NewID()
	if err := w.Add(&plain); err != nil {
		t.Fatal(err)
	}
	bad := plain
	bad.ID, bad.SwitchCost, bad.SwitchCostKnown = NewID(), math.Inf(1), true
	if err := w.Add(&bad); err == nil {
		t.Error("an infinite price was logged")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list, _ = readAll(t, folder)
	checkOld(t, list)
	for i, w := range append(want, plain) {
		r := list[5+i].Record
		if r.Session != w.Session || r.Turn != w.Turn || r.SwitchCostKnown != w.SwitchCostKnown || r.SwitchCostKnown && r.SwitchCost != w.SwitchCost || r.Kept != w.Kept {
			t.Errorf("%d: %q %d %v %v %q", i, r.Session, r.Turn, r.SwitchCost, r.SwitchCostKnown, r.Kept)
		}
	}
}

// What a guarantee says comes back from lines and from Parquet, null where it is not known. Records without one have the lines and
// columns of before.
func TestGuarantees(t *testing.T) {
	folder := oldLog(t)
	list, _ := readAll(t, folder)
	w := openTest(t, folder, quick(), *list[0].About)
	var want []Record
	for i := range 5 {
		r := *list[0].Record
		r.ID, r.AcceptedKnown, r.Accepted = NewID(), i > 0, i == 1
		if i > 1 {
			r.Instead, r.InsteadFeeKnown, r.InsteadFee = "abstain", i > 2, float64(i-3)
		}
		if r.InsteadFee < 0 {
			r.InsteadFee = 0
		}
		want = append(want, r)
		if err := w.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	bad := *list[0].Record
	bad.ID, bad.InsteadFee, bad.InsteadFeeKnown = NewID(), -1, true
	if err := w.Add(&bad); err == nil {
		t.Error("a negative fee was logged")
	}
	check := func(form string) {
		list, _ := readAll(t, folder)
		for i, w := range want {
			r := list[5+i].Record
			if r.Accepted != w.Accepted || r.AcceptedKnown != w.AcceptedKnown || r.Instead != w.Instead || r.InsteadFeeKnown != w.InsteadFeeKnown || r.InsteadFee != w.InsteadFee {
				t.Errorf("%s: %d: %+v", form, i, r)
			}
		}
	}
	waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 })
	check("lines")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("Parquet")
	list, _ = readAll(t, folder)
	checkOld(t, list)
}

// The stages of a cascade come back from lines and from Parquet, with what is not known of them. Other records have the lines and
// columns of before, also those with values that most segments lack.
func TestCascades(t *testing.T) {
	folder := oldLog(t)
	list, _ := readAll(t, folder)
	rows, paid := moneyOf(t, folder)
	w := openTest(t, folder, quick(), *list[0].About)
	none := math.NaN()
	stages := [][]CascadeStage{
		nil,
		{{Action: 1, Propensity: 0.25, Fee: 0.5, In: 10, Cached: 4, Out: 3, Micros: 7, Facts: `{"label":"yes"}`}},
		{{Action: 0, Propensity: none, Fee: none, In: none, Cached: none, Out: none}, {Action: 1, Propensity: 1, Fee: 0.25, In: 1, Cached: none, Out: 0, Micros: 9, Facts: "{}"}},
	}
	var want []Record
	pairs := len(list[0].Record.Available)
	for i, s := range stages {
		r := *list[0].Record
		r.ID, r.Masked, r.Cascade, r.Fee, r.FeeKnown = NewID(), "a: tools", s, 0.125, true
		if i > 0 { // the fees of the decisions: zeros, which are another value than none, and then others
			r.PairFees, r.StagePairFees, r.StageAvailable = slices.Repeat([]float64{0.5}, pairs), make([]float64, i*pairs), make([]bool, i*pairs)
			if i == 2 {
				r.StagePairFees = append(r.StagePairFees, slices.Repeat([]float64{0.25}, pairs)...)
			}
			r.StageAvailable[1] = true
		}
		want = append(want, r)
		if err := w.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []CascadeStage{{Action: 99}, {Propensity: 2}, {Fee: -1}, {In: math.Inf(1)}, {Facts: strings.Repeat("x", 5000)}} {
		r := want[1]
		r.ID, r.Cascade = NewID(), []CascadeStage{bad}
		if err := w.Add(&r); err == nil {
			t.Errorf("%+v was logged", bad)
		}
	}
	for name, change := range map[string]func(*Record){
		"half a decision":  func(r *Record) { r.StagePairFees = make([]float64, 2*pairs-1) },
		"one decision":     func(r *Record) { r.StageAvailable = make([]bool, pairs) },
		"four decisions":   func(r *Record) { r.StageAvailable = make([]bool, 4*pairs) },
		"a fee that is no": func(r *Record) { r.StagePairFees = slices.Repeat([]float64{none}, 2*pairs) },
	} {
		r := want[2]
		r.ID = NewID()
		if change(&r); w.Add(&r) == nil {
			t.Errorf("%s was logged", name)
		}
	}
	check := func(form string) {
		t.Helper()
		list, _ := readAll(t, folder)
		for i, w := range want {
			r := list[5+i].Record
			same := func(a, b float64) bool { return a == b || a != a && b != b }
			if !slices.EqualFunc(r.Cascade, w.Cascade, func(a, b CascadeStage) bool {
				return a.Action == b.Action && same(a.Propensity, b.Propensity) && same(a.Fee, b.Fee) && same(a.In, b.In) && same(a.Cached, b.Cached) && same(a.Out, b.Out) && a.Micros == b.Micros && a.Facts == b.Facts
			}) || r.IsCascade() != (w.Cascade != nil) || r.Masked != w.Masked || !slices.Equal(r.StagePairFees, w.StagePairFees) || (r.StagePairFees == nil) != (w.StagePairFees == nil) || !slices.Equal(r.StageAvailable, w.StageAvailable) {
				t.Errorf("%s: %d: %+v", form, i, r.Cascade)
			}
		}
	}
	waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 })
	check("lines")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("Parquet")
	if n, sum := moneyOf(t, folder); n != rows+2 || math.Abs(sum-paid-0.625) > 1e-9 { // of the last one a fee is not known
		t.Errorf("%d rows paid %v, before %d and %v", n, sum, rows, paid)
	}
	if p := want[1].PathPropensity(); p != 0.25 || want[1].Paid() != 0.5 {
		t.Errorf("%v %v", p, want[1].Paid())
	}
	if p, paid := want[2].PathPropensity(), want[2].Paid(); p == p || paid == paid {
		t.Errorf("%v %v", p, paid)
	}
	asFirst := want[2]
	asFirst.StagePairFees = nil
	if r := want[2]; asFirst.StagePrice(0) != r.ExpertFees[0]+0.5 || r.StagePrice(0) != r.ExpertFees[0] || r.StagePrice(1) != r.ExpertFees[0]+r.Lambda*r.AdviceFees[1] {
		t.Errorf("prices %v and %v of %+v", r.StagePrice(0), r.StagePrice(1), r)
	}
	if r := want[0]; r.PathPropensity() != r.Propensity[r.Action] {
		t.Errorf("%v", r.PathPropensity())
	}
}

// moneyOf is how many records of a log have a known fee, and their sum.
func moneyOf(t *testing.T, folder string) (rows int, sum float64) {
	t.Helper()
	s, err := Summarize(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Policies {
		rows += p.Money.Rows
		sum += p.Money.Mean * float64(p.Money.Rows)
	}
	return rows, sum
}
