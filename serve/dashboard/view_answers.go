package dashboard

import (
	"fmt"
	"strings"

	"pipe/pipeline/report/page"
)

// answers returns the sentences at the top of the page: problems first, then traffic and saving.
func (v *view) answers() []page.Answer {
	all := v.problems()
	for _, c := range v.candidates {
		all = append(all, page.Answer{Tone: page.Unknown, Text: fmt.Sprintf("Candidate %s of %s: %s", c.Candidate, c.Of, c.Next)})
	}
	if v.state.Traffic.TotalDecisions == 0 {
		return append(all, page.Answer{Tone: page.Unknown, Text: "No decision has been made yet."})
	}
	t := &v.state.Traffic
	text := fmt.Sprintf("%s requests a second, and %s in %s.", rate(t.RequestsPerSecond), plural(t.Decisions, "decision"), v.window())
	tone := page.Good
	if t.Failed > 0 {
		text += fmt.Sprintf(" %s of the requests failed.", percent(share(t.Failed, t.Requests)))
		tone = page.Bad
	}
	all = append(all, page.Answer{Tone: tone, Text: text})
	if v.policy == nil {
		return all
	}
	if s := v.verdict(); s.Text != "" {
		all = append(all, s)
	}
	if v.policy.Decisions > 0 && v.policy.Guarded == v.policy.Decisions {
		all = append(all, page.Answer{Tone: page.Keep, Text: fmt.Sprintf("The policy %s always takes one pair: its guard did not find the learned policy better.", v.policy.Name)})
	}
	if r := v.policy.Costs.Residual; r != nil && r.Low != nil && (*r.Low > 0 || *r.High < 0) {
		more := "more"
		if r.Mean < 0 {
			more = "less"
		}
		m := *r
		if r.Mean < 0 {
			low, high := -*r.High, -*r.Low
			m = Mean{N: r.N, Mean: -r.Mean, Low: &low, High: &high}
		}
		all = append(all, page.Answer{Tone: page.Keep, Text: fmt.Sprintf("Decisions cost %s %s than the policy %s expects, by %s. %s", interval(&m), more, v.policy.Name, plural(r.N, "outcome"), anytimeNote)})
	}
	return all
}

// anytimeNote is shown with the intervals of sentences.
const anytimeNote = "The interval may be looked at at any time."

// verdict returns the saving in words. It prefers a saving by outcomes with an interval to one by expectations.
func (v *view) verdict() page.Answer {
	var s *Saving
	for i := range v.policy.Savings {
		if c := &v.policy.Savings[i]; c.Low != nil && (s == nil || c.By == byOutcomes && s.By != byOutcomes) {
			s = c
		}
	}
	if s == nil {
		return page.Answer{}
	}
	by := "by the policy's own expectations"
	if s.By == byOutcomes {
		by = fmt.Sprintf("by outcomes, %s over %s effective rows", s.Estimator, whole(int64(s.Effective)))
	}
	best := "the best single pair of this window"
	if s.Chosen == fromGuard {
		best = "the best single pair of the training"
	}
	rest := fmt.Sprintf("against always %s, %s, %s", s.Against, best, by)
	if s.Masked > 0 {
		rest += fmt.Sprintf(", where it was available (%s of %s)", whole(s.N), plural(s.N+s.Masked, s.noun()))
	}
	switch {
	case *s.Low > 0:
		tone := page.Good
		if s.By == byExpectations { // nothing was measured
			tone = page.Unknown
		}
		return page.Answer{Tone: tone, Text: fmt.Sprintf("The policy %s saves %s per decision %s. %s", v.policy.Name, interval(&s.Mean), rest, anytimeNote)}
	case *s.High < 0:
		low, high := -*s.High, -*s.Low
		m := Mean{N: s.N, Mean: -s.Mean.Mean, Low: &low, High: &high}
		return page.Answer{Tone: page.Bad, Text: fmt.Sprintf("The policy %s costs %s more per decision %s. %s", v.policy.Name, interval(&m), strings.Replace(rest, "against", "than", 1), anytimeNote)}
	}
	return page.Answer{Tone: page.Keep, Text: fmt.Sprintf("A saving of the policy %s is not shown yet: it is %s per decision %s. %s", v.policy.Name, interval(&s.Mean), rest, anytimeNote)}
}

// problems returns the states of the server that need attention.
func (v *view) problems() (all []page.Answer) {
	add := func(tone, format string, args ...any) {
		all = append(all, page.Answer{Tone: tone, Text: fmt.Sprintf(format, args...)})
	}
	if v.log != nil && v.log.Stopped {
		add(page.Bad, "The decision log has stopped: decisions are not kept.")
	} else if v.log != nil && v.log.Errors > 0 {
		add(page.Keep, "The decision log had %s.", plural(v.log.Errors, "error"))
	}
	for _, b := range v.breakers {
		switch b.State {
		case breakerOpen:
			add(page.Bad, "The breaker of the expert %s is open: it is not called.", b.Expert)
		case breakerHalfOpen:
			add(page.Keep, "The breaker of the expert %s is half open: a call tries whether it answers again.", b.Expert)
		}
	}
	if v.exploration != nil {
		for _, text := range v.exploration.warnings() {
			add(page.Keep, "%s", text)
		}
	}
	for _, m := range v.monitor {
		switch m.Verdict {
		case "alarm":
			add(page.Bad, "The monitor of the policy %s has raised an alarm.", m.Policy)
		case "warning":
			add(page.Keep, "The monitor of the policy %s has found a change.", m.Policy)
		}
	}
	return all
}
