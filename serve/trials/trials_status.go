package trials

import (
	"fmt"
	"time"

	"pipe/models/offpolicy/anytime"
	"pipe/pipeline/gate"
	"pipe/serve/decision"
	"pipe/serve/ledger"
)

// Status is what is known of a candidate. Numbers that are not known are nil.
type Status struct {
	Of        string  `json:"of"` // the live policy
	Candidate string  `json:"candidate"`
	Promote   string  `json:"promote"` // auto or report
	Phase     Phase   `json:"phase"`   // of the latest trial
	Share     float64 `json:"share"`   // that it gets now
	Started   string  `json:"started"` // in RFC 3339; "": nothing was tried
	Ended     string  `json:"ended"`   // in RFC 3339; "": it is not over
	Old       string  `json:"old"`     // digest of the live version
	New       string  `json:"new"`     // digest of the candidate
	// Decided is the interval of the gain with which the gate decided; nil: it has not.
	Decided *anytime.Interval `json:"decided"`
	Why     string            `json:"why,omitempty"` // nothing is tried, or what was begun failed
	Gate    *gate.Status      `json:"gate"`          // nil: nothing is tried
	Ledger  *ledger.State     `json:"ledger"`        // nil: there is none
	Next    string            `json:"next"`          // what will happen, and when, in one sentence
}

// Status returns what is known of every candidate.
func (t *Trials) Status() []Status {
	all := []Status{}
	for _, c := range t.all {
		all = append(all, t.status(c, time.Now()))
	}
	return all
}

func (t *Trials) status(c *tried, now time.Time) Status {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := Status{Of: c.settings.Of, Candidate: c.settings.Policy, Promote: decision.PromoteReport, Why: c.why, Ledger: t.decider.CandidateLedger(c.settings.Of)}
	if c.settings.Promote != "" {
		s.Promote = c.settings.Promote
	}
	if c.now != nil {
		s.Phase, s.Old, s.New, s.Decided, s.Started = c.now.Phase, c.now.Old, c.now.New, c.now.Gain, stamp(c.now.Started)
		s.Ended = stamp(c.now.Ended)
		if c.now.Why != "" {
			s.Why = c.now.Why
		}
	}
	if c.gate != nil && s.Phase == Trying {
		of := c.gate.Status(now)
		s.Gate, s.Share = &of, c.settings.Share
		if s.Ledger != nil && s.Ledger.Full {
			s.Share = 0
		}
	}
	s.Next = s.next(now)
	return s
}

func stamp(micros int64) string {
	if micros == 0 {
		return ""
	}
	return time.UnixMicro(micros).UTC().Format(time.RFC3339)
}

// next is the sentence of Status.Next.
func (s *Status) next(now time.Time) string {
	const another = " Another file of the candidate begins another trial."
	switch s.Phase {
	case Promoting, Returning:
		return "The file of the live policy is being replaced; if that fails, it is tried again every minute."
	case Promoted:
		return fmt.Sprintf("The candidate took the place of %q; POST /v1/candidates/back goes one step back.%s", s.Of, another)
	case Stopped:
		return "The candidate cost more and gets no share any more." + another
	case Returned:
		return fmt.Sprintf("%q has the version before the candidate again.%s", s.Of, another)
	case Refused:
		return "The candidate could not be promoted: " + s.Why + "." + another
	}
	switch {
	case s.Gate == nil:
		return "Nothing is tried: " + s.Why + "."
	case s.Gate.Verdict == gate.Promote && s.Promote == decision.PromoteReport:
		return fmt.Sprintf("The candidate costs less: it would be promoted, but promote is report; put its file in place of that of %q.", s.Of)
	case s.Gate.Verdict == gate.Promote:
		return "The candidate costs less, and takes the place of the live policy now."
	case s.Gate.Verdict == gate.Stop:
		return "The candidate costs more, and is stopped now."
	case s.Ledger != nil && s.Ledger.Full:
		day := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		return "The ledger of the day is spent: decisions that it has no room for are the live policy's until " + day.Format("2006-01-02 15:04 UTC") + "; then it goes on."
	}
	return s.Gate.Next
}
