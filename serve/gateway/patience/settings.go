package patience

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"pipe/internal/config"
)

// Settings say how long a silent call is waited for while another pair could answer.
type Settings struct {
	// Quantile of the learned times, 0.5 to 0.9999, and the Margin by which it is multiplied: how many times slower than learned
	// an expert may become before its answers are cut.
	Quantile float64       `yaml:"quantile"`
	Margin   float64       `yaml:"margin"`
	Floor    time.Duration `yaml:"floor"` // no call is cut before
	Start    time.Duration `yaml:"start"` // the allowance until Answers are known
	Most     time.Duration `yaml:"most"`  // the longest allowance
	// Silence is how long an expert must be silent on all of its calls before they are cut together.
	Silence  time.Duration `yaml:"silence"`
	Answers  int           `yaml:"answers"`   // of one length of prompt, from which its times count as known
	HalfLife int           `yaml:"half_life"` // answers after which one counts half
	File     config.Path   `yaml:"file"`      // keeps what was learned over restarts; "": nothing does
}

// DefaultSettings are generous for models that think without a sign of life.
func DefaultSettings() Settings {
	return Settings{
		Quantile: 0.995, Margin: 3, Floor: time.Minute, Start: 3 * time.Minute, Most: 10 * time.Minute, Silence: 20 * time.Second,
		Answers: 200, HalfLife: 2000,
	}
}

// UnmarshalYAML reads the settings over their defaults.
func (s *Settings) UnmarshalYAML(n *yaml.Node) error {
	type plain Settings // avoids recursion into this method
	v := plain(DefaultSettings())
	err := n.Load(&v, yaml.WithKnownFields())
	*s = Settings(v)
	return err
}

// Limits of settings.
const (
	minTime    = time.Millisecond
	maxTime    = 24 * time.Hour
	maxAnswers = 1_000_000
	maxMargin  = 100
)

// Validate reports every problem.
func (s *Settings) Validate() error {
	var p config.Problems
	p.Check(s.Quantile >= 0.5 && s.Quantile <= 0.9999, "quantile: is %g, not 0.5 to 0.9999", s.Quantile)
	p.Check(s.Margin >= 1 && s.Margin <= maxMargin, "margin: is %g, not 1 to %d", s.Margin, maxMargin)
	for _, t := range []struct {
		name string
		d    time.Duration
	}{{"floor", s.Floor}, {"start", s.Start}, {"most", s.Most}, {"silence", s.Silence}} {
		p.Check(t.d >= minTime && t.d <= maxTime, "%s: is %v, not %v to %v", t.name, t.d, minTime, maxTime)
	}
	p.Check(s.Floor <= s.Most, "floor: is %v, above most, %v", s.Floor, s.Most)
	p.Check(s.Start <= s.Most, "start: is %v, above most, %v", s.Start, s.Most)
	p.Check(s.Answers >= 1 && s.Answers <= maxAnswers, "answers: is %d, not 1 to %d", s.Answers, maxAnswers)
	p.Check(s.HalfLife >= 10 && s.HalfLife <= maxAnswers, "half_life: is %d, not 10 to %d", s.HalfLife, maxAnswers)
	return p.Err()
}

// Latency makes lateness a fee of pairs, for all policies and for those that are named.
type Latency struct {
	Lateness `yaml:",inline"`
	Policies map[string]Lateness `yaml:"policies"` // by name, in place of the rest
}

// Lateness is the fee of an answer that begins after the deadline. Exactly one of Price and Loss is set.
type Lateness struct {
	Deadline time.Duration `yaml:"deadline"` // from the call of the expert; the header X-Pipe-Deadline of a request goes before
	Price    *float64      `yaml:"price"`    // money of a late second, in the currency of the policy
	Loss     *float64      `yaml:"loss"`     // the same in units of the policy's loss
}

// isSet reports whether there is a fee.
func (l Lateness) isSet() bool { return l != Lateness{} }

// Of is the lateness that holds for a policy; ok is false if none does.
func (l *Latency) Of(policy string) (_ Lateness, ok bool) {
	if l == nil {
		return Lateness{}, false
	}
	if own, ok := l.Policies[policy]; ok {
		return own, true
	}
	return l.Lateness, l.isSet()
}

// Validate reports every problem.
func (l *Latency) Validate() error {
	var p config.Problems
	p.Check(l.isSet() || len(l.Policies) > 0, "deadline: not set")
	if l.isSet() {
		p.Add(l.validate())
	}
	for name, own := range l.Policies {
		p.Add(config.Under("policies."+name, own.validate()))
	}
	return p.Err()
}

const maxPrice = 1e12

func (l Lateness) validate() error {
	var p config.Problems
	p.Check(l.Deadline >= minTime && l.Deadline <= maxTime, "deadline: is %v, not %v to %v", l.Deadline, minTime, maxTime)
	p.Check((l.Price == nil) != (l.Loss == nil), "price, loss: set one of them, of a late second")
	for name, v := range map[string]*float64{"price": l.Price, "loss": l.Loss} {
		p.Check(v == nil || *v > 0 && *v <= maxPrice, "%s: must be above 0 and at most %g", name, maxPrice)
	}
	return p.Err()
}

// ParseDeadline reads a deadline such as 5s, 800ms or 2.5, which are seconds.
func ParseDeadline(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	d, err := time.ParseDuration(text)
	if seconds, plain := strconv.ParseFloat(text, 64); plain == nil && !math.IsNaN(seconds) {
		d, err = time.Duration(min(max(seconds, 0), 2*maxTime.Seconds())*float64(time.Second)), nil
	}
	if err != nil || d < minTime || d > maxTime {
		return 0, fmt.Errorf("must be a time such as 5s, 800ms, or a number of seconds, from %v to %v", minTime, maxTime)
	}
	return d, nil
}

// Hedge asks a second pair when the first one takes unusually long.
type Hedge struct {
	After Percentile `yaml:"after"` // of the learned times until an answer begins, such as p95
	Share float64    `yaml:"share"` // of the requests, at most
}

// Percentile is a share that is written as p95 or p99.9.
type Percentile float64

// UnmarshalYAML reads a percentile.
func (q *Percentile) UnmarshalYAML(n *yaml.Node) error {
	number, ok := strings.CutPrefix(n.Value, "p")
	percent, err := strconv.ParseFloat(number, 64)
	if n.Kind != yaml.ScalarNode || !ok || err != nil || !slices.Contains(percentiles, percent) {
		return fmt.Errorf("is %.40q, not one of p50, p75, p90, p95, p98, p99", n.Value)
	}
	*q = Percentile(percent / 100)
	return nil
}

var percentiles = []float64{50, 75, 90, 95, 98, 99}

// DefaultHedge hedges the slowest twentieth of the requests, but at most a fiftieth of all.
func DefaultHedge() Hedge { return Hedge{After: 0.95, Share: 0.02} }

// UnmarshalYAML reads the settings over their defaults.
func (h *Hedge) UnmarshalYAML(n *yaml.Node) error {
	type plain Hedge // avoids recursion into this method
	v := plain(DefaultHedge())
	err := n.Load(&v, yaml.WithKnownFields())
	*h = Hedge(v)
	return err
}

// Validate reports every problem.
func (h *Hedge) Validate() error {
	var p config.Problems
	p.Check(h.After >= 0.5 && h.After <= 0.99, "after: is p%g, not p50 to p99", 100*float64(h.After))
	p.Check(h.Share > 0 && h.Share <= 0.5, "share: is %g, not above 0 and at most 0.5", h.Share)
	return p.Err()
}
