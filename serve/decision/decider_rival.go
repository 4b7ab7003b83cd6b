package decision

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"sync/atomic"

	"pipe/serve/ledger"
	"pipe/serve/policies"
)

// rival is a canary or a candidate: another policy that gets a share of the requests for one.
type rival struct {
	Canary
	key    []byte         // of the hash that assigns users; nil: of a canary, whose hash has no key
	open   atomic.Bool    // it gets its share
	width  float64        // of the range of costs of a candidate
	ledger *ledger.Ledger // of the extra cost; nil: none
}

// newRivals opens the ledgers of candidates in a folder; "": they are kept in memory only. Candidates are not open.
func newRivals(s Settings, folder string, log *slog.Logger) (all []*rival, err error) {
	for _, c := range s.Canary {
		r := &rival{Canary: c}
		r.open.Store(true)
		all = append(all, r)
	}
	for _, c := range s.Candidate {
		r := &rival{Canary: c.Canary, key: []byte(s.UserKey), width: c.Costs[1] - c.Costs[0]}
		all = append(all, r)
		if c.Ledger == nil {
			continue
		}
		o := ledger.Options{Every: ledgerEvery, Log: log}
		if folder != "" {
			o.File = filepath.Join(folder, "candidate-ledger-"+url.PathEscape(cmp.Or(c.Of, "default"))+".json")
		}
		if r.ledger, err = ledger.Open("candidate "+c.Policy+" of "+cmp.Or(c.Of, "the default policy"), *c.Ledger, o); err != nil {
			return all, fmt.Errorf("candidate: %w", err)
		}
	}
	return all, nil
}

// closeRivals closes the ledgers.
func closeRivals(all []*rival) error {
	var problems []error
	for _, r := range all {
		if r.ledger != nil {
			problems = append(problems, r.ledger.Close())
		}
	}
	return errors.Join(problems...)
}

// rivalOf returns the canary or candidate of the policy that a request names; nil if there is none, or it gets nothing now.
func (d *Decider) rivalOf(asked string, p *policies.Policy) *rival {
	for _, r := range d.rivals {
		if r.Share > 0 && r.open.Load() && d.isOf(r.Of, asked, p) {
			return r
		}
	}
	return nil
}

// draws reports whether a request is the rival's. For a candidate, the users are drawn anew for each pair of versions.
func (r *rival) draws(live, other used, sticky string) bool {
	if r.key == nil {
		return share(r.Policy, sticky) < r.Share
	}
	return keyedShare(r.key, live.policy.Digest+" "+other.policy.Digest, sticky) < r.Share
}

// keyedShare is share for those who must not be able to compute it.
func keyedShare(key []byte, purpose, text string) float64 {
	h := hmac.New(sha256.New, key)
	for _, s := range [2]string{purpose, text} {
		h.Write([]byte(s))
		h.Write([]byte{0xff})
	}
	return float64(binary.BigEndian.Uint64(h.Sum(nil))>>11) / units
}

// OpenCandidate gives the candidate of a policy its share, or takes it away. Candidates get nothing until this is called.
func (d *Decider) OpenCandidate(of string, open bool) {
	if r := d.candidateOf(of); r != nil {
		r.open.Store(open)
	}
}

// CandidateLedger is the state of the ledger of the candidate of a policy; nil if it has none.
func (d *Decider) CandidateLedger(of string) *ledger.State {
	r := d.candidateOf(of)
	if r == nil || r.ledger == nil {
		return nil
	}
	s := r.ledger.State()
	return &s
}

// candidateOf is the candidate of a policy; nil if it has none.
func (d *Decider) candidateOf(of string) *rival {
	for _, r := range d.rivals {
		if r.key != nil && cmp.Or(r.Of, d.set.Default()) == of {
			return r
		}
	}
	return nil
}

// charge spends the extra cost of a candidate's decision. Where the day has no room for it, the live policy decides, and the
// candidate has a share of 0 of the request. That does not depend on which of the two was drawn.
func (d *Decider) charge(res *Result) error {
	r := res.used.rival
	if r == nil || r.ledger == nil {
		return nil
	}
	amount := r.width * float64(res.differing())
	fits := amount == 0
	if !fits && res.used.canary {
		_, fits = r.ledger.Spend(amount)
	} else if !fits {
		fits = r.ledger.Fits(amount)
	}
	if fits {
		return nil
	}
	if res.used.canary {
		if res.other == nil {
			return fmt.Errorf("the ledger of the candidate %q has no room for a decision, and the live policy cannot decide: %w", r.Policy, res.otherErr)
		}
		res.swap()
	}
	res.used.share, res.other = 0, nil
	return nil
}

// differing is the number of rows on which the two policies may choose different pairs.
func (r *Result) differing() int {
	rows := len(r.Decisions.Action)
	if r.other == nil || !r.decider.settings.Explore.off() && !r.request.NoExplore {
		return rows
	}
	n := 0
	for i, a := range r.Decisions.Action {
		if a != r.other.Action[i] {
			n++
		}
	}
	return n
}

// swap takes the decisions of the policy that was not drawn.
func (r *Result) swap() {
	r.used = r.used.swapped()
	r.Policy, r.Prices = r.used.policy, r.used.prices
	r.Decisions, r.other = r.other, r.Decisions
	r.features, r.otherFeatures = r.otherFeatures, r.features
}

// swapped is the other policy, with this one as its other.
func (u used) swapped() used {
	out, other := *u.other, u
	other.other = nil
	out.other = &other
	return out
}
