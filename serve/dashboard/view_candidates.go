package dashboard

import (
	"fmt"

	"pipe/pipeline/report/page"
	"pipe/serve/ledger"
)

// CandidateState is the state of a candidate that is tried beside a policy.
type CandidateState struct {
	Candidate string  `json:"candidate"`
	Of        string  `json:"of"`
	Phase     string  `json:"phase"`
	Share     float64 `json:"share"` // that it gets now
	// Gain is the cost of the live policy minus that of the candidate, per decision on which they differ, with the interval that may
	// be looked at at any time.
	Gain             *Mean         `json:"gain,omitempty"`
	Users            int           `json:"users"` // with a decision on which the policies differ
	Outcomes         int           `json:"outcomes"`
	Effective        float64       `json:"effective"`
	MissingLive      *float64      `json:"missing_live,omitempty"` // shares of the users
	MissingCandidate *float64      `json:"missing_candidate,omitempty"`
	Ledger           *ledger.State `json:"ledger,omitempty"`
	Next             string        `json:"next"`
}

// candidatesSection shows the candidates.
func candidatesSection(all []CandidateState) page.Section {
	t := &page.Table{
		Head:    head("candidate", "<of", "<now", "share now", "gain where they differ [95% interval]", "outcomes of users", "effective users", "missing outcomes: live, candidate"),
		Caption: "The gain is the cost of the live policy minus that of the candidate, by the outcomes of one decision of each user: the first one on which they differ. Its interval may be looked at at any time.",
	}
	var next []string
	for _, c := range all {
		effective := ""
		if c.Gain != nil {
			effective = whole(int64(c.Effective))
		}
		t.Rows = append(t.Rows, []page.Cell{
			name(c.Candidate), word(c.Of), word(c.Phase), cell(percent(c.Share)), cell(interval(c.Gain)), cell(whole(int64(c.Outcomes)) + " of " + whole(int64(c.Users))),
			cell(effective), cell(shareOr(c.MissingLive) + ", " + shareOr(c.MissingCandidate)),
		})
		next = append(next, c.Candidate+": "+c.Next)
		if l := c.Ledger; l != nil {
			next = append(next, fmt.Sprintf("%s: at most %s of the %s that it may cost more are spent on %s (UTC).", c.Candidate, cost(l.Spent), cost(l.Allowance), l.Day))
		}
	}
	return page.Section{ID: "candidates", Title: "Candidates", Blocks: []page.Block{{Table: t}, {List: next}}}
}

// shareOr formats a share that may be unknown.
func shareOr(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return percent(*v)
}
