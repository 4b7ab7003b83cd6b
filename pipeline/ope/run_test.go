package ope

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/stage"
)

// leftOut is how many rows were left out for a reason that begins so.
func leftOut(r *Report, reason string) (rows int) {
	for _, l := range r.Left {
		if strings.HasPrefix(l.Reason, reason) {
			rows += l.Rows
		}
	}
	return rows
}

// Every tenth decision is no evidence, each for a reason that is named and counted.
func TestRowsThatAreLeftOut(t *testing.T) {
	for reason, change := range map[string]func(r *decisionlog.Record, o *decisionlog.Outcome){
		"the outcome is from a time before the decision":                     func(r *decisionlog.Record, o *decisionlog.Outcome) { o.Time = r.Time - 1 },
		"another pair answered than the drawn one (fallback)":                func(r *decisionlog.Record, _ *decisionlog.Outcome) { r.Executed = (r.Action + 1) % 4 },
		"the loss is not known":                                              func(_ *decisionlog.Record, o *decisionlog.Outcome) { o.ID = "" },
		"no pair answered":                                                   func(r *decisionlog.Record, _ *decisionlog.Outcome) { r.Error = "every expert failed" },
		"the features are not in the log":                                    func(r *decisionlog.Record, _ *decisionlog.Outcome) { r.Features = nil },
		"conversations on which no policy decided":                           func(r *decisionlog.Record, _ *decisionlog.Outcome) { r.Source = decisionlog.SourceFixed },
		"the probabilities are those of one policy alone, although a canary": func(r *decisionlog.Record, _ *decisionlog.Outcome) { r.Share = 0.5 },
		"decisions of cascades, whose answers were chosen after": func(r *decisionlog.Record, _ *decisionlog.Outcome) {
			r.Cascade = []decisionlog.CascadeStage{{Propensity: 1}, {Action: 1, Propensity: 1}}
		},
		"decided by a policy with other pairs: another deployment": func(r *decisionlog.Record, _ *decisionlog.Outcome) { r.Policy, r.Digest = "other", "sha256:other" },
		"no pair that the policy may choose was available": func(r *decisionlog.Record, _ *decisionlog.Outcome) {
			r.Available = []bool{true, true, false, true}
			r.Action, r.Propensity = 0, []float64{0.8, 0.1, 0, 0.1}
		},
	} {
		w := newWorld(5)
		other := w.about[0]
		a := *other.Actions
		a.Experts = []costs.Expert{{Name: "small"}, {Name: "huge", Fee: 0.2}}
		other.Name, other.Digest, other.Actions = "other", "sha256:other", &a
		w.about[1] = other
		w.change = func(n int, r *decisionlog.Record, o *decisionlog.Outcome) {
			if n%10 == 3 {
				change(r, o)
			}
		}
		r := w.judged(t, 600, nil)
		if got := leftOut(r, reason); got != 60 || r.Rows != 540 {
			t.Errorf("%s: %d rows are left, and out are %+v", reason, r.Rows, r.Left)
		}
	}
}

// Decisions of another deployment whose outcome is missing say nothing of the pairs of this one.
func TestMissingOutcomesOfOthers(t *testing.T) {
	w := newWorld(5)
	a := costs.Actions{Experts: []costs.Expert{{Name: "one"}, {Name: "two"}, {Name: "three"}, {Name: "four"}, {Name: "five"}}, Advice: []costs.Advice{{Name: "none"}}}
	w.about[1] = decisionlog.PolicyInfo{Name: "other", Digest: "sha256:other", Actions: &a, Lambda: 0.5, Dim: 2}
	w.change = func(n int, r *decisionlog.Record, o *decisionlog.Outcome) {
		if n%10 == 3 {
			o.ID = ""
			r.Policy, r.Digest, r.ExpertFees, r.AdviceFees = "other", "sha256:other", make([]float64, 5), make([]float64, 1)
			r.Action, r.Greedy, r.Available, r.Propensity = 4, 4, []bool{true, true, true, true, true}, []float64{0, 0, 0, 0, 1}
		}
	}
	if r := w.judged(t, 600, nil); r.Outcomes.Missing != 0 || leftOut(r, "the loss is not known") != 60 || r.Rows != 540 {
		t.Errorf("%+v, %+v", r.Outcomes, r.Left)
	}
}

// With the option, a decision that fell back has the cost of choosing the drawn pair.
func TestFallbacksAreKept(t *testing.T) {
	w := newWorld(5)
	w.change = func(n int, r *decisionlog.Record, _ *decisionlog.Outcome) {
		if n%10 == 3 {
			r.Executed = (r.Action + 1) % 4
		}
	}
	if r := w.judged(t, 300, func(o *Options) { o.Fallbacks = true }); r.Rows != 300 || len(r.Left) > 0 {
		t.Errorf("%d rows, %+v", r.Rows, r.Left)
	}
}

// A log whose probabilities are not those of the draws, or whose outcomes are missing by pair, tells nothing.
func TestContradictions(t *testing.T) {
	for why, change := range map[string]func(n int, r *decisionlog.Record, o *decisionlog.Outcome){
		"the probabilities in the log do not fit what was executed": func(_ int, r *decisionlog.Record, _ *decisionlog.Outcome) {
			r.Share, r.Propensity, r.OwnPropensity = 0, greedy(0), nil // of the live policy, although the canary decided some
		},
		"whether an outcome is known depends on the pair": func(n int, r *decisionlog.Record, o *decisionlog.Outcome) {
			if r.Action == 2 && n%3 == 0 {
				o.ID = ""
			}
		},
	} {
		w := newWorld(6)
		w.share, w.change = 0.4, change
		r := w.judged(t, 1500, nil)
		if r.Verdict != Unknown || !slices.Contains(r.Why, why) || !strings.Contains(r.Sentence, why) {
			t.Errorf("%s: %q", why, r.Sentence)
		}
	}
}

// Choices that the log never tried are named, and many of them make the verdict unknown.
func TestUntriedChoices(t *testing.T) {
	w := newWorld(7)
	w.change = func(_ int, r *decisionlog.Record, _ *decisionlog.Outcome) {
		if r.Action == 3 {
			r.Action = 0
		}
		r.Propensity = []float64{0.85, 0.075, 0.075, 0}
	}
	r := w.judged(t, 800, func(o *Options) { o.Policy = "pair:large/search" })
	if r.Verdict != Unknown || r.Support.Untried < 0.999 || len(r.Support.Pairs) != 1 || r.Support.Pairs[0].Pair != "large/search" || !strings.Contains(r.Sentence, "100% of its choices were never tried") {
		t.Errorf("%q, %+v", r.Sentence, r.Support)
	}
}

// Drifting probabilities and rows that were kept with others are said.
func TestCautions(t *testing.T) {
	w := newWorld(8)
	w.change = func(n int, r *decisionlog.Record, _ *decisionlog.Outcome) {
		if n > 500 {
			r.Propensity = []float64{0.25, 0.25, 0.25, 0.25}
			r.Action = w.rng.IntN(4)
		}
	}
	r := w.judged(t, 1000, nil)
	if text := strings.Join(r.Cautions, "\n"); !r.Logged.Changes || !strings.Contains(text, "change over time") || len(r.Logged.Parts) != timeParts {
		t.Errorf("%s, %+v", text, r.Logged)
	}
	if len(r.Loggers) != 1 || r.Loggers[0] != (Logger{"live@sha256:live", 1000}) {
		t.Errorf("%+v", r.Loggers)
	}
}

// The same log, options and seed give the same report; the page and the text have its sentence.
func TestReport(t *testing.T) {
	w := newWorld(9)
	w.share = 0.5
	r := w.judged(t, 900, nil)
	var text, html strings.Builder
	if err := errors.Join(r.WriteText(&text), r.WriteHTML(&html)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), r.Sentence+"\n") || !strings.Contains(html.String(), "What this is based on") || r.Verdict != Saves {
		t.Errorf("%s", &text)
	}
	if !strings.HasPrefix(r.Sentence, "switching to large/none saves ") || strings.Count(text.String(), "canary@sha256:canary") != 1 {
		t.Errorf("%s", &text) // one of the policies that decided
	}
	again := newWorld(9)
	again.share = 0.5
	b := again.judged(t, 900, nil)
	if b.File = r.File; fmt.Sprintf("%+v", *b.Estimates[0].Share) != fmt.Sprintf("%+v", *r.Estimates[0].Share) || *b.Anytime.Gain != *r.Anytime.Gain {
		t.Errorf("%+v and %+v", b, r)
	}
}

// Options that cannot be are errors of options.
func TestBadOptions(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"both":      func(o *Options) { o.Costs = o.Log },
		"no policy": func(o *Options) { o.Policy = "" },
		"estimator": func(o *Options) { o.Estimator = "x" },
		"level":     func(o *Options) { o.Level = 1 },
		"resamples": func(o *Options) { o.Resamples = 1 },
		"tail":      func(o *Options) { o.Level = 0.9999 },
		"range":     func(o *Options) { o.Range = &[2]float64{1, 0} },
		"pair":      func(o *Options) { o.Policy = "pair:x/y" },
		"guess":     func(o *Options) { o.Propensity = true },
		"money":     func(o *Options) { o.Money = "x" },
	} {
		o := DefaultOptions()
		o.Log, o.Policy = newWorld(1).log(t, 30), "pair:small/none"
		change(&o)
		_, err := Run(t.Context(), o, nil)
		var bad *stage.OptionError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The features of a log are others than those of a policy if their number, names or digest are.
func TestFeaturesOfAnotherPolicy(t *testing.T) {
	actions := func(digest string) *costs.Actions {
		a := *newWorld(1).about[0].Actions
		a.Digests = map[string]string{costs.FeatureDigest: digest}
		return &a
	}
	info := &policy.Info{Actions: actions("sha256:a"), Dim: 2, Info: map[string]string{"feature_names": `["a","b"]`}}
	for want, p := range map[string]decisionlog.PolicyInfo{
		"":                              {Actions: actions("sha256:a"), Dim: 2, Meta: map[string]string{costs.NamesKey: `["a","b"]`}},
		"the decision has 3":            {Actions: actions("sha256:a"), Dim: 3},
		"(another digest)":              {Actions: actions("sha256:b"), Dim: 2},
		"the features have other names": {Actions: actions(""), Dim: 2, Meta: map[string]string{costs.NamesKey: `["b","a"]`}},
	} {
		if got := featuresOf(&p, []*policy.Info{info}); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}
