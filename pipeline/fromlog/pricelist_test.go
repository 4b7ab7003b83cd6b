package fromlog

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// twoLists is a log of a policy with lambda 0 and its canary with lambda 4 and another fee, as 1,000 decisions at random. Every
// pair has the loss .25.
func twoLists(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(4)
	live, canary := w.about, w.about
	live.Lambda = 0
	dear := *w.about.Actions
	dear.Experts = []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.4}}
	canary.Name, canary.Digest, canary.Lambda, canary.Actions = "canary", "sha256:canary", 4, &dear
	for _, p := range []decisionlog.PolicyInfo{live, canary} {
		if err := to.Policy(p); err != nil {
			t.Fatal(err)
		}
	}
	loss := 0.25
	for n := range 1000 {
		r, o := w.step(n)
		r.Lambda, r.Share, r.Action = 0, 0.5, n%4
		r.Available, r.Propensity, r.OwnPropensity = slices.Repeat([]bool{true}, 4), slices.Repeat([]float64{0.25}, 4), nil
		r.OwnPropensity = r.Propensity
		if n/4%2 == 0 {
			r.Policy, r.Digest, r.Canary, r.Lambda, r.ExpertFees = canary.Name, canary.Digest, true, 4, []float64{0, 0.4}
		}
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
	return folder
}

// All costs of an export are at the prices of one policy: the one that is named, or else the one that was asked for. The report
// says which. Inverse propensity weights give the cost of a pair at these prices.
func TestOnePriceList(t *testing.T) {
	folder := twoLists(t)
	live, dear := []float64{0.25, 0.25, 0.45, 0.45}, []float64{0.25, 1.45, 0.65, 1.85}
	for policy, c := range map[string]struct {
		cost     []float64
		repriced int
		list     string
	}{
		"":       {live, 500, "those of greedy@sha256:planted, with lambda 0, without measured fees"},
		"greedy": {live, 0, "those of greedy@sha256:planted, with lambda 0, without measured fees"},
		"canary": {dear, 0, "those of canary@sha256:canary, with lambda 4, without measured fees"},
	} {
		rows, r := exported(t, folder, policy)
		ips := make([]float64, 4)
		for _, row := range rows {
			pair := row.Action - 1
			ips[pair] += row.Cost / row.Probability / float64(len(rows))
			if math.Abs(row.Context.Multi[pair].Fee["fee"].(float64)+0.25-row.Cost) > 1e-9 {
				t.Errorf("%q: a cost of %v with the fee %v", policy, row.Cost, row.Context.Multi[pair].Fee)
			}
		}
		for i, want := range c.cost {
			if math.Abs(ips[i]-want) > 1e-9 {
				t.Errorf("%q: pair %d costs %v, want %v", policy, i, ips[i], want)
			}
		}
		if text := textOf(t, r); r.Repriced != c.repriced || !strings.Contains(text, c.list) || strings.Contains(text, "were made at other prices") != (c.repriced > 0) {
			t.Errorf("%q: %d were made at other prices\n%s", policy, r.Repriced, text)
		}
	}
}

func textOf(t *testing.T, r *Result) string {
	t.Helper()
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// Decisions of a policy with other pairs have no fees in the list: they are left out and counted.
func TestOtherPairsHaveNoPrice(t *testing.T) {
	folder := t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(4)
	other := w.about
	other.Digest = "sha256:other"
	renamed := *w.about.Actions
	renamed.Experts = []costs.Expert{{Name: "small"}, {Name: "huge", Fee: 3}}
	other.Actions = &renamed
	for _, p := range []decisionlog.PolicyInfo{other, w.about} {
		if err := to.Policy(p); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 8 {
		r, o := w.step(n)
		if n < 3 {
			r.Digest = other.Digest
		}
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
	rows, r := exported(t, folder, "")
	if len(rows) != 5 || r.OtherPairs != 3 || !strings.Contains(textOf(t, r), "3 decisions of policies with other pairs") {
		t.Errorf("%d rows\n%s", len(rows), textOf(t, r))
	}
	if rows, r := exported(t, folder, "greedy@other"); len(rows) != 3 || r.OtherPairs != 0 {
		t.Errorf("of the other one: %d rows, %+v", len(rows), r)
	}
}

// The measured fee of a call is part of the cost where the policy's expected costs have it. A decision without a known fee is left
// out and counted.
func TestExportsHaveMeasuredFees(t *testing.T) {
	calls := []call{{0, "tiny", true, -1}, {1, "", false, 0.1}, {2, "large-2026", true, -1}, {3, "large", true, -1}}
	for name, c := range map[string]struct {
		meta   map[string]string
		change func(o *Options)
		want   []float64
		noFee  int
		says   string
	}{
		"prices": {measured(worldPrices), func(*Options) {}, []float64{0.25 + 0.0212/0.5, 0.4 + 0.12/0.5, 0.6 + 0.032/0.5}, 1, "and measured fees"},
		"money":  {measured("{}"), func(*Options) {}, []float64{0.4 + 0.1/0.5}, 3, "3 decisions whose measured fee is not known"},
		"--no-fees": {
			measured("{}"), func(o *Options) { o.NoFees = true }, []float64{0.25, 0.4, 0.45, 0.6}, 0, "without the measured fees from which the policy learned",
		},
		"--money":  {nil, func(o *Options) { o.Money = "USD=0.5" }, []float64{0.4 + 0.1/0.5}, 3, "and measured fees"},
		"no meter": {nil, func(*Options) {}, []float64{0.25, 0.4, 0.45, 0.6}, 0, "without measured fees"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.Log, o.DSJSON, o.OBP = storage.File(callsIn(t, []map[string]string{c.meta}, calls)), storage.File(filepath.Join(t.TempDir(), "l.dsjson")), storage.File(filepath.Join(t.TempDir(), "l.json"))
			c.change(&o)
			r, err := Import(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if text := textOf(t, r); r.ExportNoFee != c.noFee || !strings.Contains(text, c.says) || strings.Contains(text, "the money in the log") != (name == "prices") {
				t.Errorf("%d without fee\n%s", r.ExportNoFee, text)
			}
			var got []float64
			for _, row := range linesOf(t, o.DSJSON.String()) {
				got = append(got, row.Cost)
			}
			if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
				t.Errorf("costs %v, want %v", got, c.want)
			}
		})
	}
}

// Where no fee of an export is known, or not what a loss is worth, the error says what to do.
func TestExportsWithoutFees(t *testing.T) {
	without := measured("{}")
	delete(without, costs.MoneyKey)
	for want, c := range map[string]struct {
		meta map[string]string
		call call
	}{
		"is known of none of the 2 decisions": {measured("{}"), call{0, "", false, -1}},
		"what a loss of 1 is worth":           {without, call{0, "", false, 0.1}},
	} {
		o := DefaultOptions()
		o.Log, o.DSJSON = storage.File(callsIn(t, []map[string]string{c.meta}, []call{c.call, c.call})), storage.File(filepath.Join(t.TempDir(), "l.dsjson"))
		if _, err := Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		o.NoFees = true
		if r, err := Import(t.Context(), o); err != nil || r.Exported != 2 {
			t.Errorf("--no-fees: %+v, %v", r, err)
		}
	}
}
