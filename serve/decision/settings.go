package decision

import (
	"errors"
	"fmt"
	"math"

	"pipe/internal/config"
	"pipe/pipeline/gate"
	"pipe/serve/ledger"
)

// Settings configure exploration, canaries, shadow policies, and the inputs from conversations.
type Settings struct {
	Explore Explore  `yaml:"explore"`
	Canary  []Canary `yaml:"canary"`
	// Candidate are canaries with a gate. A policy has a canary or a candidate, not both.
	Candidate []Candidate `yaml:"candidate"`
	Shadow    []Shadow    `yaml:"shadow"`
	// Prompt selects the messages for an encoder of texts: last_user, users or all, see [Messages.Text].
	Prompt string `yaml:"prompt"`
	// UserKey is the key of the hash of users in the log, so that a reader of the log cannot find users by trying names.
	UserKey string `yaml:"user_key"`
	// Seed makes exploration reproducible, for tests: the same requests in the same order give the same decisions. 0: draws
	// are not predictable.
	Seed uint64 `yaml:"seed"`
	// ShadowQueue is the most requests that wait for shadow policies. Beyond that, requests are not shadowed.
	ShadowQueue int `yaml:"shadow_queue"`
	// ShadowWorkers is the number of requests on which shadow policies decide at once.
	ShadowWorkers int `yaml:"shadow_workers"`
}

// Explore says how often, and how, a pair other than the policy's choice is drawn. The zero value never explores. At most
// one of Epsilon, Softmax and SquareCB is set.
type Explore struct {
	// Epsilon is the probability of a uniform draw from the available pairs, 0 to 1.
	Epsilon float64 `yaml:"epsilon"`
	// Softmax is a temperature in the unit of the expected cost, above 0: a pair is drawn with a probability that is
	// proportional to exp(-cost/temperature). It needs a policy that estimates costs.
	Softmax float64 `yaml:"softmax"`
	// SquareCB draws each of the A available pairs besides the policy's choice with probability 1/(A + gamma gap). The gap is the
	// pair's expected cost minus the lowest one. It needs a policy that estimates costs. Source: arXiv 2002.04926.
	SquareCB bool `yaml:"squarecb"`
	// Gamma is that of SquareCB, in pairs per unit of the expected cost. 0: 10 sqrt(t) for decision t of the policy.
	Gamma float64 `yaml:"gamma"`
	// MaxExtraCost limits the cost of exploration: the mean expected cost of a decision minus that of the policy's choice, in
	// the unit of the task loss. Where it would be more, the policy's choice gets a larger probability. nil: no limit. With a
	// limit, policies that estimate no costs do not explore.
	MaxExtraCost *float64 `yaml:"max_extra_cost"`
	// Ledger bounds the extra cost of exploration per day. nil: no bound. It needs a policy that estimates costs.
	Ledger *Ledger `yaml:"ledger"`
	// OutcomesWithin is the number of decisions after which exploration stops if no outcome came. 0: it never stops for that.
	OutcomesWithin int64 `yaml:"outcomes_within"`
	// Folder keeps the ledger and the counts of decisions over a restart. pipe serve sets it to that of the decision log.
	// Empty: both begin again.
	Folder string `yaml:"-"`
}

// Ledger is the allowance of exploration: the most that it may add to the expected cost of the policy's choices, in the unit
// of the task loss.
type Ledger struct {
	ledger.Settings `yaml:",inline"`
	// Losses are the smallest and the largest possible task loss, from which the extra cost is bounded. nil: it is bounded by the
	// calibration that a policy's file has.
	Losses []float64 `yaml:"losses"`
}

// Canary gives a share of the requests for one policy to another one. The same user always gets the same policy.
type Canary struct {
	Of     string  `yaml:"of"`     // the policy that requests name; empty: the default one
	Policy string  `yaml:"policy"` // the one that gets the share
	Share  float64 `yaml:"share"`  // 0 to 1
}

// Candidate is a canary with a gate: its share ends when the outcomes show that it costs less or more than the policy that it
// stands in for. Users are assigned by a hash with the key UserKey, so that they cannot choose.
type Candidate struct {
	Canary        `yaml:",inline"`
	gate.Settings `yaml:",inline"`
	// Promote says what happens when the candidate costs less: PromoteAuto or PromoteReport. Empty: PromoteReport.
	Promote string `yaml:"promote"`
	// Ledger bounds the extra cost of the candidate per day, in the unit of the task loss: every decision of the candidate where
	// the two policies differ counts as the whole range of Costs. nil: no bound.
	Ledger *ledger.Settings `yaml:"ledger"`
}

// What Candidate.Promote may be.
const (
	PromoteAuto   = "auto"   // the file of the live policy is replaced by that of the candidate
	PromoteReport = "report" // nothing; the server says what it would do
)

// Shadow names a policy that decides on the same requests as another one. Its decisions are logged and counted, and never
// executed.
type Shadow struct {
	Of     string `yaml:"of"` // the policy that requests name; empty: the default one
	Policy string `yaml:"policy"`
}

// DefaultSettings have no exploration, canaries or shadows.
func DefaultSettings() Settings {
	return Settings{Prompt: PromptLastUser, ShadowQueue: 1024, ShadowWorkers: 1, Explore: Explore{OutcomesWithin: 100_000}}
}

// Validate reports every problem at once.
func (s Settings) Validate() error {
	problems := append([]error{s.Explore.validate()}, s.validateCanaries()...)
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	seen := map[Shadow]bool{}
	for i, sh := range s.Shadow {
		if sh.Policy == "" || sh.Policy == sh.Of {
			add("shadow: entry %d: policy must name another policy than %q", i+1, sh.Of)
		}
		if seen[sh] {
			add("shadow: entry %d: %q is a shadow of %q already", i+1, sh.Policy, sh.Of)
		}
		seen[sh] = true
	}
	if _, ok := prompts[s.Prompt]; !ok {
		add("prompt %q is none of %s, %s and %s", s.Prompt, PromptLastUser, PromptUsers, PromptAll)
	}
	if s.ShadowQueue < 1 || s.ShadowQueue > 1<<20 {
		add("shadow_queue %d is not from 1 to %d", s.ShadowQueue, 1<<20)
	}
	if s.ShadowWorkers < 1 || s.ShadowWorkers > 1024 {
		add("shadow_workers %d is not from 1 to 1024", s.ShadowWorkers)
	}
	return errors.Join(problems...)
}

// validate reports every problem at once.
func (e Explore) validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf("explore: "+format, args...)) }
	if !(e.Epsilon >= 0 && e.Epsilon <= 1) {
		add("epsilon %g is not from 0 to 1", e.Epsilon)
	}
	if !(e.Softmax >= 0) || math.IsInf(e.Softmax, 0) {
		add("softmax %g is not a temperature: a number above 0, or 0 for none", e.Softmax)
	}
	ways := 0
	for _, set := range []bool{e.Epsilon > 0, e.Softmax > 0, e.SquareCB} {
		if set {
			ways++
		}
	}
	if ways > 1 {
		add("more than one of epsilon, softmax and squarecb is set; choose one")
	}
	if !(e.Gamma >= 0) || math.IsInf(e.Gamma, 0) {
		add("gamma %g is not a number above 0, or 0 for 10 sqrt(t)", e.Gamma)
	}
	if e.Gamma > 0 && !e.SquareCB {
		add("gamma belongs to squarecb, which is not set")
	}
	if c := e.MaxExtraCost; c != nil && !(*c >= 0) {
		add("max_extra_cost %g is not a number of at least 0", *c)
	}
	if e.OutcomesWithin < 0 {
		add("outcomes_within %d is negative; 0 never stops exploration", e.OutcomesWithin)
	}
	if e.Ledger != nil {
		if err := e.Ledger.validate(); err != nil {
			problems = append(problems, config.Under("explore", config.Under("ledger", err)))
		}
		if e.off() {
			add("ledger: nothing is explored; set epsilon, softmax or squarecb, or leave the ledger out")
		}
	}
	return errors.Join(problems...)
}

// validate reports every problem at once.
func (l *Ledger) validate() error {
	problems := []error{l.Settings.Validate()}
	if n := len(l.Losses); n > 0 && (n != 2 || !(l.Losses[0] < l.Losses[1]) || math.IsInf(l.Losses[0], 0) || math.IsInf(l.Losses[1], 0)) {
		problems = append(problems, fmt.Errorf("losses: %v are not the smallest and the largest possible loss, such as [0, 1]", l.Losses))
	}
	return errors.Join(problems...)
}

// off reports whether exploration is turned off.
func (e Explore) off() bool { return e.Epsilon == 0 && e.Softmax == 0 && !e.SquareCB }

// String says how is explored.
func (e Explore) String() string {
	switch {
	case e.Epsilon > 0:
		return fmt.Sprintf("epsilon %g", e.Epsilon)
	case e.Softmax > 0:
		return fmt.Sprintf("softmax, temperature %g", e.Softmax)
	case e.SquareCB && e.Gamma > 0:
		return fmt.Sprintf("SquareCB, gamma %g", e.Gamma)
	case e.SquareCB:
		return "SquareCB, gamma 10 sqrt(t)"
	}
	return "off"
}
