package serve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/config"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/monitor"
)

// guardedDecision is what a client reads of a decision of a policy with a guarantee.
type guardedDecision struct {
	ID, Pair string
	Index    int
	Explored bool
	Accepted *bool
	Instead  *string
	Loss     float32 `json:"expected_loss"`

	unchecked []string // of its prices
}

// guarded is a server with a policy with a guarantee, and the policy's own decider.
type guarded struct {
	*running
	decider *policy.Decider
	random  *rand.Rand
}

func newGuarded(t *testing.T, p *policy.Policy, change func(*Config)) *guarded {
	t.Helper()
	m := decidetest.Guarded(t, p, nil)
	d, err := policy.NewDecider(orttest.Open(t, 1), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	folder := t.TempDir()
	file := filepath.Join(folder, "p.onnx")
	if err := m.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *Config) {
		c.Policies.Paths = []string{file}
		c.Log.Folder = config.Path(filepath.Join(folder, "log"))
		c.Monitor.Baseline = config.Path(aBaseline(t, decidetest.AnyPrice(4)))
		if change != nil {
			change(c)
		}
	}, nil)
	return &guarded{r, d, rand.New(rand.NewPCG(3, 5))}
}

// decide decides on a new row, with more members in the request, and returns what the file itself says of the row.
func (g *guarded) decide(t *testing.T, more string) (got guardedDecision, own *policy.Decisions) {
	t.Helper()
	row := make([]float32, 4)
	for i := range row {
		row[i] = float32(g.random.NormFloat64())
	}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	if own, err = g.decider.Decide(t.Context(), row, 1); err != nil {
		t.Fatal(err)
	}
	chosen, err := json.Marshal(g.decider.Info().Actions.Name(int(own.Action[0])))
	if err != nil {
		t.Fatal(err)
	}
	more = strings.ReplaceAll(more, "CHOSEN", string(chosen))
	code, _, body := g.do(t, "POST", "/v1/decide", fmt.Sprintf(`{"features":%s%s}`, text, more), "Content-Type", "application/json")
	var answer struct {
		Prices    struct{ Unchecked []string }
		Decisions []guardedDecision
	}
	if err := json.Unmarshal([]byte(body), &answer); code != 200 || err != nil || len(answer.Decisions) != 1 {
		t.Fatal(code, body, err)
	}
	got = answer.Decisions[0]
	got.unchecked = answer.Prices.Unchecked
	return got, own
}

// TestAcceptedAndInstead: the decide API says of every decision whether the file accepts it, and what should take it if not. A drawn pair,
// and one in the place of a pair that was left out, is not accepted.
func TestAcceptedAndInstead(t *testing.T) {
	fixed := decidetest.AnyPrice(4)
	fixed.Estimate.Prices = nil
	g := newGuarded(t, fixed, func(c *Config) { c.Decision.Explore.Epsilon = 0.3 })
	counts := map[string]int{}
	for _, more := range []string{``, `,"explore":false`, `,"unavailable":{"pairs":[CHOSEN]}`} {
		for range 60 {
			d, own := g.decide(t, more)
			want := own.Accepted[0] && int64(d.Index) == own.Action[0]
			if d.Accepted == nil || *d.Accepted != want || (d.Instead == nil) != want || d.Instead != nil && *d.Instead != policy.Abstain {
				t.Fatalf("%s: %+v; the file accepts its own choice %v: %v", more, d, own.Action, own.Accepted)
			}
			counts[fmt.Sprint(more, own.Accepted[0], d.Explored, *d.Accepted)]++
		}
	}
	for _, must := range []string{"false false false", "true true false", "true false true", `,"unavailable":{"pairs":[CHOSEN]}true false false`} {
		if counts[must] == 0 {
			t.Errorf("no decision was %s: %v", must, counts)
		}
	}
}

// TestAcceptedAtOtherPrices: an any-price policy accepts by its threshold also where nothing is promised, and the answer says so.
func TestAcceptedAtOtherPrices(t *testing.T) {
	g := newGuarded(t, decidetest.AnyPrice(4), nil)
	for more, promised := range map[string]bool{``: true, `,"unavailable":{"pairs":[CHOSEN]}`: false, `,"prices":{"lambda":4}`: false} {
		for range 30 {
			d, _ := g.decide(t, more)
			says := slices.ContainsFunc(d.unchecked, func(why string) bool { return strings.Contains(why, "the guarantee") })
			if *d.Accepted != (d.Loss <= 0.35) || says == promised {
				t.Fatalf("%s: %+v", more, d)
			}
		}
	}
}

// TestGuaranteeIsMonitored: a server watches the losses of accepted decisions, at the prices of the promise and as the file chose
// among all pairs, and of no others.
func TestGuaranteeIsMonitored(t *testing.T) {
	g := newGuarded(t, decidetest.AnyPrice(4), nil)
	status := func() *monitor.GuaranteeStatus {
		code, _, body := g.do(t, "GET", "/v1/monitor", "")
		var s monitor.Status
		if err := json.Unmarshal([]byte(body), &s); code != 200 || err != nil || s.Guarantee == nil {
			t.Fatal(code, body, err)
		}
		return s.Guarantee
	}
	sent, accepted := 0, int64(0)
	for _, c := range []struct {
		more string
		loss float64
	}{{``, 0.125}, {`,"unavailable":{"pairs":[CHOSEN]}`, 1}, {`,"prices":{"lambda":4}`, 1}, {`,"prices":{"pairs":{"c/none":0.001}}`, 1}} {
		for range 60 {
			d, own := g.decide(t, c.more)
			if c.more == "" && own.Accepted[0] {
				accepted++
			}
			if code, _, body := g.do(t, "POST", "/v1/outcomes", fmt.Sprintf(`{"id":%q,"loss":%g}`, d.ID, c.loss), "Content-Type", "application/json"); code != 200 {
				t.Fatal(code, body)
			}
			sent++
		}
	}
	waitFor(t, func() bool {
		_, _, body := g.do(t, "GET", "/metrics", "")
		return strings.Contains(body, fmt.Sprintf("pipe_monitor_outcomes{policy=\"p\"} %d\n", sent))
	})
	if s := status(); accepted == 0 || s.Accepted != accepted || *s.Mean != 0.125 || s.Verdict != monitor.OK || s.Risen != 0 {
		t.Errorf("%+v, mean %v; %d were accepted at the prices of the promise", s, s.Mean, accepted)
	}
	for risen := false; !risen; { // the risk is 1 from now on
		d, _ := g.decide(t, "")
		g.do(t, "POST", "/v1/outcomes", fmt.Sprintf(`{"id":%q,"loss":1}`, d.ID), "Content-Type", "application/json")
		if sent++; sent > 2000 {
			t.Fatal("the alarm does not rise")
		}
		risen = status().Risen > 0
	}
	_, _, body := g.do(t, "GET", "/metrics", "")
	if s := status(); s.Verdict != monitor.Alarm || !slices.Contains(strings.Split(body, "\n"), `pipe_monitor_verdict{family="guarantee",policy="p"} 2`) {
		t.Errorf("%+v\n%s", s, body)
	}
}
