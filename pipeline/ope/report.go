package ope

import (
	"fmt"
	"math"
	"strings"

	"pipe/models"
	"pipe/pipeline/decide"
	"pipe/pipeline/decisionlog"
)

// The verdicts.
const (
	Saves   = "saves"   // the interval of the gain is above 0
	Costs   = "costs"   // it is below 0
	Unknown = "unknown" // the log cannot tell
)

// Report is the result of Run. Costs are those of a request: task loss, measured fees and the fees of the price list.
type Report struct {
	Format   int      `json:"format"`
	File     string   `json:"file"`
	Policy   string   `json:"policy"`
	Digest   string   `json:"policy_digest,omitempty"`
	Against  string   `json:"against"`
	Sentence string   `json:"sentence"`
	Verdict  string   `json:"verdict"`
	Why      []string `json:"why,omitempty"` // the log cannot tell
	Cautions []string `json:"cautions,omitempty"`

	Rows     int     `json:"rows"`
	Clusters int     `json:"clusters,omitempty"` // of users; 0: each row is a draw of its own
	Level    float64 `json:"level"`
	Prices   string  `json:"prices"` // of all costs
	Lambda   float64 `json:"lambda"`

	Estimates []Estimate `json:"estimates"` // the first one is that of the sentence
	Anytime   *Anytime   `json:"anytime,omitempty"`

	Differ   float64       `json:"differ"`                    // probability that the two choose differently on a row
	Decisive float64       `json:"decisive_rows"`             // effective rows that tell them apart
	Support  *Support      `json:"support,omitempty"`         // nil for the logged policy
	Baseline *Support      `json:"support_against,omitempty"` // likewise
	Decided  []Decided     `json:"decided_at,omitempty"`
	Outcomes *Outcomes     `json:"outcomes"`
	Logged   *Propensities `json:"propensities"`
	Loggers  []Logger      `json:"loggers,omitempty"`
	Left     []Left        `json:"left_out,omitempty"`
}

// Estimate is what one estimator says, with intervals by the bootstrap.
type Estimate struct {
	Name    string           `json:"estimator"`
	Policy  models.Interval  `json:"cost_policy"`
	Against models.Interval  `json:"cost_against"`
	Gain    models.Interval  `json:"gain"`            // cost_against - cost_policy
	Share   *models.Interval `json:"share,omitempty"` // gain / cost_against; nil: that is not above 0
}

// Anytime has intervals that hold at all times at once, however often the log is looked at.
type Anytime struct {
	Low    float64          `json:"least_cost"` // that is possible
	High   float64          `json:"largest_cost"`
	Policy *models.Interval `json:"cost_policy,omitempty"` // nil: not known
	Gain   *models.Interval `json:"gain,omitempty"`        // likewise
	Why    string           `json:"not_known,omitempty"`   // why not
}

// Decided says at which prices an any-price policy decided.
type Decided struct {
	Policy string             `json:"policy"`
	Prices *decide.UsedPrices `json:"prices"`
}

// Limits of the verdict.
const (
	leastUsers    = 20 // with fewer, the bootstrap of users is too narrow
	leastDecisive = 20 // effective rows on which the two policies differ
)

// conclude sets verdict and sentence.
func (r *Report) conclude() {
	e := r.Estimates[0]
	s, whose := r.Support, "its choices"
	if s == nil {
		s, whose = r.Baseline, "the choices of "+r.Against
	}
	say := func(bad bool, format string, args ...any) {
		if bad {
			r.Why = append(r.Why, fmt.Sprintf(format, args...))
		}
	}
	say(r.Differ == 0, "the two choose alike on every row")
	for _, of := range []*Support{r.Support, r.Baseline} {
		if of == nil {
			continue
		}
		say(of.Untried > mostUntried, "%s of the choices were never tried", share(of.Untried))
		if of.Misfit && r.Logged.Fits {
			say(true, "by their probabilities the executed choices stand for %s of the rows", share(*of.Covered))
		}
	}
	say(r.Clusters > 0 && r.Clusters < leastUsers, "there are fewer than %d users", leastUsers)
	say(r.Differ > 0 && s.Effective < decisionlog.LeastEffective, "there are fewer than %d effective rows", decisionlog.LeastEffective)
	say(r.Differ > 0 && r.Decisive < leastDecisive, "only %s effective rows tell the two apart", count(r.Decisive))
	say(!r.Logged.Fits, "the probabilities in the log do not fit what was executed")
	say(r.Outcomes.Depends, "whether an outcome is known depends on the pair")
	if len(r.Why) == 0 {
		say(!(e.Gain.Low > 0 || e.Gain.High < 0), "0 is within the interval")
	}
	r.Verdict = Unknown
	switch {
	case len(r.Why) > 0:
	case e.Gain.Low > 0:
		r.Verdict = Saves
	default:
		r.Verdict = Costs
	}
	r.Sentence = r.verdict(e) + fmt.Sprintf("; %s effective rows; %s of %s were never tried", count(s.Effective), share(s.Untried), whose)
	if r.Logged.Estimated != nil {
		r.Sentence += "; THE PROBABILITIES ARE GUESSED"
	}
}

// verdict is the beginning of the sentence.
func (r *Report) verdict(e Estimate) string {
	to := "switching to " + r.Policy
	if r.Against != loggedName {
		to = fmt.Sprintf("switching from %s to %s", r.Against, r.Policy)
	}
	switch r.Verdict {
	case Saves:
		return fmt.Sprintf("%s saves %s per request", to, amount(e, 1))
	case Costs:
		return fmt.Sprintf("%s costs %s more per request", to, amount(e, -1))
	}
	return fmt.Sprintf("it is not clear whether %s saves: %s per request, but %s", to, amount(e, 1), join(r.Why))
}

func join(reasons []string) string {
	text := reasons[0]
	for i, reason := range reasons[1:] {
		if i == len(reasons)-2 {
			text += " and " + reason
		} else {
			text += ", " + reason
		}
	}
	return text
}

// amount is a gain times a sign, as a share where it has one.
func amount(e Estimate, sign float64) string {
	v, unit, scale, text := e.Gain, "", sign, costText
	if e.Share != nil {
		v, unit, scale, text = *e.Share, "%", 100*sign, percentText
	}
	low, high := scale*v.Low, scale*v.High
	return text(models.Interval{Mean: scale * v.Mean, Low: min(low, high), High: max(low, high)}, unit)
}

func percentText(v models.Interval, unit string) string { return intervalText(v, unit, "%.1f") }

// costText is an interval of costs, with digits for small and large ones.
func costText(v models.Interval, unit string) string {
	switch size := max(math.Abs(v.Low), math.Abs(v.High)); {
	case size >= 1e6 || size > 0 && size < 1e-4:
		return intervalText(v, unit, "%.3g")
	case size > 0 && size < 0.01:
		return intervalText(v, unit, "%.6f")
	default:
		return intervalText(v, unit, "%.4f")
	}
}

// intervalText is an interval with the unit behind the estimate; what is rounded to 0 has no sign.
func intervalText(v models.Interval, unit, format string) string {
	text := func(x float64) string {
		if math.Abs(x) < 1e-12*max(math.Abs(v.Low), math.Abs(v.High)) {
			x = 0
		}
		t := fmt.Sprintf(format, x)
		if strings.Trim(t, "-0.") == "" {
			t = strings.TrimPrefix(t, "-")
		}
		return t
	}
	return fmt.Sprintf("%s%s [%s, %s]", text(v.Mean), unit, text(v.Low), text(v.High))
}

// count is a number of effective rows, rounded down.
func count(rows float64) string { return fmt.Sprintf("%.0f", math.Floor(rows)) }

func share(v float64) string {
	if v > 0 && v < 0.01 {
		return fmt.Sprintf("%.2g%%", 100*v)
	}
	return fmt.Sprintf("%.0f%%", 100*v)
}
