package decision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/decisionlog"
	"pipe/serve/metrics"
	"pipe/serve/policies"
)

const dim = 6

// world is a set of policies, a log, and a decider over them.
type world struct {
	*Decider
	folder  string // of policies
	logged  string // folder of the log
	log     *decisionlog.Writer
	metrics *prometheus.Registry
}

// newWorld serves an any-price policy, "any", and two with fixed prices, "fixed" and "other". Copies of "any" have more names.
func newWorld(t testing.TB, s Settings, more ...string) *world {
	t.Helper()
	w := &world{folder: t.TempDir(), logged: filepath.Join(t.TempDir(), "log"), metrics: prometheus.NewRegistry()}
	other := decidetest.Policy(dim, 5)
	files := map[string]*policy.Policy{"any": decidetest.AnyPrice(dim), "fixed": decidetest.Policy(dim, 4), "other": other}
	for _, name := range more {
		files[name] = decidetest.AnyPrice(dim)
	}
	for name, p := range files {
		if err := os.Rename(decidetest.WritePolicy(t, p), filepath.Join(w.folder, name+".onnx")); err != nil {
			t.Fatal(err)
		}
	}
	about := policies.DefaultSettings()
	about.Paths, about.Default = []string{w.folder}, "any"
	set, err := policies.Open(t.Context(), about, orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.log, err = decisionlog.Open(w.logged, decisionlog.DefaultSettings()); err != nil {
		t.Fatal(err)
	}
	if w.Decider, err = New(set, w.log, metrics.New(w.metrics), slog.New(slog.DiscardHandler), s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.Close(), w.log.Close(), set.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// records closes the log and returns what it has, by id.
func (w *world) records(t testing.TB) map[string]*decisionlog.Record {
	t.Helper()
	if err := errors.Join(w.Close(), w.log.Close()); err != nil {
		t.Fatal(err)
	}
	l, err := decisionlog.Read(w.logged)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*decisionlog.Record{}
	for d, err := range l.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		out[d.Record.ID] = d.Record
	}
	return out
}

func numbers(seed uint64, n int) []float32 {
	r, x := rand.New(rand.NewPCG(seed, 1)), make([]float32, n*dim)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func features(x []float32) policies.Inputs { return policies.Inputs{Features: x} }

// ask decides and finishes.
func (w *world) ask(t testing.TB, r Request) *Result {
	t.Helper()
	res, err := w.Decide(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Done(); err != nil {
		t.Fatal(err)
	}
	return res
}

// TestSameAsRouter checks that decisions are those of a router that a program opens on the same file, at many prices.
func TestSameAsRouter(t *testing.T) {
	w, x, half := newWorld(t, DefaultSettings()), numbers(3, 40), 0.5
	for name, changes := range map[string][]policy.PriceChange{
		"any": {
			{},
			{Lambda: &half},
			{Fees: []policy.Fee{{Of: policy.Expert("c"), Amount: 0.4}, {Of: policy.Advice("short"), Amount: 1e-3}}},
			{Lambda: &half, Fees: []policy.Fee{{Of: policy.Pair("c/none"), Amount: 0.3}, {Of: policy.Pair("a, or b/short"), Amount: 0.02}}},
			{Without: []policy.Part{policy.Expert("c")}},
			{Lambda: &half, Without: []policy.Part{policy.Pair(`"quoted"/none`), policy.Advice("long")}},
		},
		"fixed": {{}, {Without: []policy.Part{policy.Expert("a, or b")}}, {Without: []policy.Part{policy.Advice("short"), policy.Advice("long")}}},
	} {
		for _, c := range changes {
			router, err := decide.Open(t.Context(), filepath.Join(w.folder, name+".onnx"), decide.Options{Prices: c})
			if err != nil {
				t.Fatal(err)
			}
			want, err := router.Batch(t.Context(), x, 40)
			if err != nil {
				t.Fatal(err)
			}
			got := w.ask(t, Request{Policy: name, Inputs: features(x), Prices: c, Source: SourceDecide})
			if !reflect.DeepEqual(got.Decisions, want) {
				t.Errorf("%s at %+v: the decisions differ from the router's", name, c)
			}
			if !reflect.DeepEqual(got.Prices.Available, router.Prices().Available) || got.Prices.Lambda != router.Prices().Lambda {
				t.Errorf("%s at %+v: other prices", name, c)
			}
			for i, r := range got.Records {
				if pair := i % len(r.Available); !reflect.DeepEqual(r.PairFees, router.Prices().Pairs) || r.FeeOf(pair) != router.Prices().Fee(pair) {
					t.Fatalf("%s at %+v: %+v", name, c, r)
				}
			}
			all, err := router.FeatureRows(t.Context(), [][]float32{x[:dim]})
			if err != nil {
				t.Fatal(err)
			}
			if ranked := router.Ranked(all[0]); !reflect.DeepEqual(got.Ranked(0), ranked) {
				t.Errorf("%s at %+v: ranked %v, the router's are %v", name, c, got.Ranked(0), ranked)
			}
			if err := router.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestErrors checks the types of errors, and that none keeps a lease: the set could not close.
// TestSurcharge checks that a request with surcharges gets the decision and the record of one with the same fees of pairs.
func TestSurcharge(t *testing.T) {
	w, x := newWorld(t, DefaultSettings()), numbers(3, 40)
	amounts := func(p *policies.Policy) ([]float64, error) {
		out := make([]float64, p.Info().Actions.Len())
		for i := range out {
			out[i] = float64(i) / 10
		}
		return out, nil
	}
	got := w.ask(t, Request{Policy: "any", Inputs: features(x), Surcharge: amounts})
	var same policy.PriceChange
	for i, name := range got.Policy.Info().Actions.Names() {
		same.Fees = append(same.Fees, policy.Fee{Of: policy.Pair(name), Amount: float64(i) / 10})
	}
	want := w.ask(t, Request{Policy: "any", Inputs: features(x), Prices: same})
	plain := w.ask(t, Request{Policy: "any", Inputs: features(x)})
	if !slices.Equal(got.Decisions.Action, want.Decisions.Action) || slices.Equal(got.Decisions.Action, plain.Decisions.Action) {
		t.Errorf("%v, with fees %v, without %v", got.Decisions.Action, want.Decisions.Action, plain.Decisions.Action)
	}
	if fees := got.Records[0].PairFees; len(fees) == 0 || !slices.Equal(fees, want.Records[0].PairFees) {
		t.Errorf("recorded %v", fees)
	}
	var unpriced *PriceError
	if _, err := w.Decide(t.Context(), Request{Policy: "fixed", Inputs: features(x), Surcharge: amounts}); !errors.As(err, &unpriced) {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	w, lambda := newWorld(t, DefaultSettings()), 2.0
	nan := numbers(1, 2)
	nan[dim+1] = float32(math.NaN())
	for name, c := range map[string]struct {
		r    Request
		as   any
		text string
	}{
		"unknown":       {Request{Policy: "nope", Inputs: features(numbers(1, 1))}, new(*policies.UnknownError), `unknown policy "nope"; known are any, fixed, other`},
		"fixed prices":  {Request{Policy: "fixed", Prices: policy.PriceChange{Lambda: &lambda}, Inputs: features(numbers(1, 1))}, new(*PriceError), "has fixed prices"},
		"unknown pair":  {Request{Prices: policy.PriceChange{Without: []policy.Part{policy.Pair("x")}}, Inputs: features(numbers(1, 1))}, new(*PriceError), `unknown pair "x"`},
		"width":         {Request{Inputs: features(numbers(1, 1)[:5])}, new(*InputError), "there are 5 features, but the policy takes 6 per row"},
		"nothing":       {Request{Inputs: features([]float32{})}, new(*InputError), "there are 0 features"},
		"texts":         {Request{Inputs: policies.Inputs{Texts: []string{"a"}}}, new(*InputError), `policy "any" takes features, not texts`},
		"conversation":  {Request{Conversation: Messages{{Role: "user", Texts: []string{"a"}}}}, new(*InputError), "not messages"},
		"not a number":  {Request{Inputs: features(nan)}, new(*decide.RowError), "row 1: feature 1 is NaN"},
		"none is left":  {Request{Prices: policy.PriceChange{Without: []policy.Part{policy.Expert("a, or b"), policy.Expert("c"), policy.Expert(`"quoted"`)}}, Inputs: features(numbers(1, 1))}, new(*PriceError), "no action remains"},
		"other version": {Request{Policy: "any@00000", Inputs: features(numbers(1, 1))}, new(*policies.UnknownError), "any@00000"},
	} {
		_, err := w.Decide(t.Context(), c.r)
		if !errors.As(err, c.as) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
		if err != nil && strings.Contains(err.Error(), w.folder) {
			t.Errorf("%s: a client learns of a path: %v", name, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Decide(cancelled, Request{Inputs: features(numbers(1, 1))}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestExploreIntoLog checks the records of exploring decisions: the log has the exact propensities, and how often pairs
// were chosen agrees with them.
func TestExploreIntoLog(t *testing.T) {
	s := DefaultSettings()
	s.Explore.Epsilon, s.Seed = 0.5, 11
	w := newWorld(t, s)
	without := policy.PriceChange{Without: []policy.Part{policy.Expert("c")}}
	explored, n := 0, 2000
	res := w.ask(t, Request{Inputs: features(numbers(5, n)), Prices: without, Source: SourceDecide, Client: "web", User: "anna", ID: "r1"})
	for i, rec := range res.Records {
		if rec.Greedy != int(res.Decisions.Action[i]) {
			t.Fatalf("row %d: greedy is %d, the policy chose %d", i, rec.Greedy, res.Decisions.Action[i])
		}
		if rec.Action != rec.Greedy {
			explored++
		}
		if first := res.Ranked(i)[0]; first != rec.Action {
			t.Fatalf("row %d: the first is %d, chosen is %d", i, first, rec.Action)
		}
	}
	// 5 of 9 pairs remain: "quoted"/long does not exist, and c is left out. 4/5 of half of the draws are others.
	if share, want := float64(explored)/float64(n), 0.4; math.Abs(share-want) > 0.05 {
		t.Errorf("a share of %.3f explored, want %.3f", share, want)
	}
	logged := w.records(t)
	if len(logged) != n {
		t.Fatalf("%d records, want %d", len(logged), n)
	}
	for _, rec := range res.Records {
		got := logged[rec.ID]
		if got == nil || !reflect.DeepEqual(got.Propensity, rec.Propensity) || got.Action != rec.Action || got.Greedy != rec.Greedy {
			t.Fatalf("logged %+v, decided %+v", got, rec)
		}
		if got.Propensity[rec.Greedy] != 0.6 && math.Abs(got.Propensity[rec.Greedy]-0.6) > 1e-15 || got.Client != "web" || got.Request != "r1" || got.User == "" || got.User == "anna" {
			t.Fatalf("logged %+v", got)
		}
		for i, ok := range got.Available {
			if got.Propensity[i] > 0 && !ok {
				t.Fatalf("pair %d is not available and has the probability %v", i, got.Propensity[i])
			}
		}
	}
	again := newWorld(t, s).ask(t, Request{Inputs: features(numbers(5, n)), Prices: without})
	for i, rec := range again.Records {
		if rec.Action != res.Records[i].Action {
			t.Fatalf("row %d: the same seed gives %d and %d", i, rec.Action, res.Records[i].Action)
		}
	}
	plain := newWorld(t, s).ask(t, Request{Inputs: features(numbers(5, 50)), NoExplore: true})
	for _, rec := range plain.Records {
		if rec.Action != rec.Greedy || rec.Propensity[rec.Action] != 1 {
			t.Fatalf("it explored although the request refused to: %+v", rec)
		}
	}
}

// TestCanary checks that a user always gets the same of two policies, and the canary a share of users.
func TestCanary(t *testing.T) {
	s := DefaultSettings()
	s.Canary = []Canary{{Of: "fixed", Policy: "other", Share: 0.3}}
	w, canaries := newWorld(t, s), 0
	for user := range 300 {
		first := ""
		for range 3 {
			res := w.ask(t, Request{Policy: "fixed", Inputs: features(numbers(1, 1)), User: fmt.Sprint(user)})
			name := res.Records[0].Policy
			if first != "" && name != first || res.Records[0].Canary != (name == "other") {
				t.Fatalf("user %d got %s and %s, canary %v", user, first, name, res.Records[0].Canary)
			}
			first = name
		}
		if first == "other" {
			canaries++
		}
	}
	if canaries < 60 || canaries > 120 {
		t.Errorf("the canary got %d of 300 users, want about 90", canaries)
	}
	version := "fixed@" + w.ask(t, Request{Policy: "fixed", Inputs: features(numbers(1, 1)), NoExplore: true, User: notCanary(t)}).Policy.Digest
	for user := range 50 {
		if res := w.ask(t, Request{Policy: version, Inputs: features(numbers(1, 1)), User: fmt.Sprint(user)}); res.Records[0].Policy != "fixed" {
			t.Fatal("a request for one version got the canary")
		}
	}
	for user := range 50 {
		if res := w.ask(t, Request{Policy: "any", Inputs: features(numbers(1, 1)), User: fmt.Sprint(user)}); res.Records[0].Policy != "any" {
			t.Fatal("another policy has no canary")
		}
	}
}

// notCanary is a user who does not get the canary of TestCanary.
func notCanary(t *testing.T) string {
	for user := range 300 {
		if share("other", "user\x00"+fmt.Sprint(user)) >= 0.3 {
			return fmt.Sprint(user)
		}
	}
	t.Fatal("every user gets the canary")
	return ""
}

// TestCanaryThatCannotDecide checks that a request which the canary cannot take is decided by the policy that was asked for.
func TestCanaryThatCannotDecide(t *testing.T) {
	s, lambda := DefaultSettings(), 2.0
	s.Canary = []Canary{{Policy: "fixed", Share: 1}}
	w := newWorld(t, s)
	if res := w.ask(t, Request{Inputs: features(numbers(1, 1))}); res.Records[0].Policy != "fixed" || !res.Records[0].Canary {
		t.Errorf("%+v", res.Records[0])
	}
	if res := w.ask(t, Request{Inputs: features(numbers(1, 1)), Prices: policy.PriceChange{Lambda: &lambda}}); res.Records[0].Policy != "any" || res.Records[0].Canary {
		t.Errorf("a canary with fixed prices decided at others: %+v", res.Records[0])
	}
}

// TestShadow checks that shadows are logged and counted and change nothing, and that an outcome can follow at once.
func TestShadow(t *testing.T) {
	s := DefaultSettings()
	s.Shadow = []Shadow{{Policy: "fixed"}, {Policy: "other"}}
	w, x := newWorld(t, s), numbers(9, 30)
	alone := w.ask(t, Request{Policy: "fixed", Inputs: features(x)})
	res := w.ask(t, Request{Inputs: features(x)})
	correct := true
	for _, rec := range res.Records {
		if duplicate, err := w.Outcome(decisionlog.Outcome{ID: rec.ID, Correct: &correct}); err != nil || duplicate {
			t.Fatalf("an outcome right after the decision: %v", err)
		}
	}
	logged, agrees := w.records(t), [2]int{}
	for i, rec := range res.Records {
		got := logged[rec.ID]
		if len(got.Shadows) != 2 || got.Shadows[0].Policy != "fixed" || got.Shadows[1].Policy != "other" {
			t.Fatalf("shadows %+v", got.Shadows)
		}
		if want := int(alone.Decisions.Action[i]); got.Shadows[0].Action != want {
			t.Errorf("row %d: the shadow chose %d, alone it chooses %d", i, got.Shadows[0].Action, want)
		}
		if !math.IsNaN(got.Shadows[0].ExpectedCost) {
			t.Errorf("a policy without expectations expects %v", got.Shadows[0].ExpectedCost)
		}
		for k, sh := range got.Shadows {
			if sh.Action == got.Greedy {
				agrees[k]++
			}
		}
	}
	want := fmt.Sprintf(`
		# HELP pipe_shadow_decisions_total Decisions of shadow policies, by whether they chose the same pair as the live one.
		# TYPE pipe_shadow_decisions_total counter
		pipe_shadow_decisions_total{agrees="true",policy="any",shadow="fixed"} %d
		pipe_shadow_decisions_total{agrees="false",policy="any",shadow="fixed"} %d
		pipe_shadow_decisions_total{agrees="true",policy="any",shadow="other"} %d
		pipe_shadow_decisions_total{agrees="false",policy="any",shadow="other"} %d
	`, agrees[0], 30-agrees[0], agrees[1], 30-agrees[1])
	if err := testutil.GatherAndCompare(w.metrics, strings.NewReader(want), "pipe_shadow_decisions_total"); err != nil {
		t.Error(err)
	}
}

// TestShadowsThatCannotFollow checks that requests beyond the queue are decided and logged without shadows.
func TestShadowsThatCannotFollow(t *testing.T) {
	s := DefaultSettings()
	s.Shadow, s.ShadowQueue = []Shadow{{Policy: "fixed"}}, 1
	w, without := newWorld(t, s), 0
	for range 200 {
		w.ask(t, Request{Inputs: features(numbers(1, 50))})
	}
	records := w.records(t)
	for _, rec := range records {
		if len(rec.Shadows) == 0 {
			without++
		}
	}
	if n := len(records); n != 200*50 || without%50 != 0 || without != int(w.shadows.dropped)*50 {
		t.Errorf("%d records, %d without shadows, %d requests found the queue full", n, without, w.shadows.dropped)
	}
}

// TestOutcomesByPolicy checks that losses are counted for the policy that decided, once each, and that old decisions are
// forgotten.
func TestOutcomesByPolicy(t *testing.T) {
	w, loss, wrong := newWorld(t, DefaultSettings()), 0.25, false
	a := w.ask(t, Request{Inputs: features(numbers(1, 1))}).Records[0].ID
	b := w.ask(t, Request{Policy: "fixed", Inputs: features(numbers(1, 1))}).Records[0].ID
	for _, o := range []decisionlog.Outcome{{ID: a, Loss: &loss}, {ID: a, Loss: &loss}, {ID: b, Correct: &wrong}} {
		if _, err := w.Outcome(o); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Outcome(decisionlog.Outcome{ID: "nope", Loss: &loss}); !errors.As(err, new(*decisionlog.UnknownError)) {
		t.Errorf("an outcome of nothing: %v", err)
	}
	want := `
		# HELP pipe_outcome_loss Loss of executed pairs, as outcomes reported it.
		# TYPE pipe_outcome_loss summary
		pipe_outcome_loss_sum{policy="any"} 0.25
		pipe_outcome_loss_count{policy="any"} 1
		pipe_outcome_loss_sum{policy="fixed"} 1
		pipe_outcome_loss_count{policy="fixed"} 1
	`
	if err := testutil.GatherAndCompare(w.metrics, strings.NewReader(want), "pipe_outcome_loss"); err != nil {
		t.Error(err)
	}
	r := newRecentPolicies()
	for i := range 3 * recentRoom {
		r.add("p", []*decisionlog.Record{{ID: fmt.Sprint(i)}})
	}
	if r.policy(fmt.Sprint(3*recentRoom-1)) != "p" || r.policy(fmt.Sprint(2*recentRoom)) != "p" || r.policy("0") != "" || len(r.current)+len(r.previous) > 2*recentRoom {
		t.Error("the last decisions are not those that are remembered")
	}
}

// TestNewRefuses checks that a decider is not made with settings that name no policy.
func TestNewRefuses(t *testing.T) {
	w := newWorld(t, DefaultSettings())
	for _, s := range []Settings{
		{Prompt: PromptAll, ShadowQueue: 1, ShadowWorkers: 1, Shadow: []Shadow{{Policy: "nope"}}},
		{Prompt: PromptAll, ShadowQueue: 1, ShadowWorkers: 1, Canary: []Canary{{Policy: "fixed", Of: "nope"}}},
	} {
		if _, err := New(w.Policies(), nil, nil, nil, s); err == nil || !strings.Contains(err.Error(), `unknown policy "nope"`) {
			t.Errorf("%v", err)
		}
	}
	bad := Settings{
		Explore: Explore{Epsilon: 2, Softmax: -1, MaxExtraCost: limit(-1)}, Canary: []Canary{{Share: 2}, {}}, Shadow: []Shadow{{}, {}}, Prompt: "x",
	}
	if err := bad.Validate(); err == nil || strings.Count(err.Error(), "\n") != 12 {
		t.Errorf("problems: %v", err)
	}
}

// TestShadowsHaveRoom checks that a policy has as many shadows as a record has room for, and no more.
func TestShadowsHaveRoom(t *testing.T) {
	w := newWorld(t, DefaultSettings())
	for n := decisionlog.MaxShadows; n <= decisionlog.MaxShadows+1; n++ {
		s := DefaultSettings()
		s.Shadow = []Shadow{{Policy: w.Policies().Default(), Of: "fixed"}, {Policy: "fixed"}}
		for i := range n - 1 {
			s.Shadow = append(s.Shadow, Shadow{Policy: fmt.Sprint("unknown-", i), Of: w.Policies().Default()})
		}
		_, err := New(w.Policies(), nil, nil, nil, s) // fails in both cases: most shadows are unknown
		if full := strings.Contains(fmt.Sprint(err), "has 65 shadows; a record has room for 64"); full != (n > decisionlog.MaxShadows) {
			t.Errorf("%d shadows: %v", n, err)
		}
	}
}

// TestNoLog checks that a decider works without a log and without metrics.
func TestNoLog(t *testing.T) {
	w := newWorld(t, DefaultSettings())
	d, err := New(w.Policies(), nil, nil, nil, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	res, err := d.Decide(t.Context(), Request{Inputs: features(numbers(1, 2))})
	if err != nil || res.Done() != nil || res.Records[0].ID == res.Records[1].ID {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := d.Outcome(decisionlog.Outcome{ID: res.Records[0].ID, Label: "x"}); !errors.Is(err, ErrNoLog) {
		t.Errorf("an outcome without a log: %v", err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
