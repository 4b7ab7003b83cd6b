package decision

import (
	"hash/maphash"
	"sync"

	"pipe/pipeline/decisionlog"
)

// recentPolicies has the policies of the last decisions, so that outcomes are counted by policy. It keeps at least the last
// recentRoom decisions, in two generations.
type recentPolicies struct {
	mu                sync.Mutex
	seed              maphash.Seed
	current, previous map[uint64]string // hash of a decision's id -> name of its policy
}

const recentRoom = 1 << 16

func newRecentPolicies() *recentPolicies {
	return &recentPolicies{seed: maphash.MakeSeed(), current: map[uint64]string{}}
}

// add adds decisions of a policy. Those that used [Request.FixedPair] are left out: their outcomes say nothing about it.
func (r *recentPolicies) add(policy string, records []*decisionlog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range records {
		if rec.IsFixed() {
			continue
		}
		if len(r.current) >= recentRoom {
			r.current, r.previous = map[uint64]string{}, r.current
		}
		r.current[maphash.String(r.seed, rec.ID)] = policy
	}
}

// policy returns the policy of a decision; "" if it is no longer known.
func (r *recentPolicies) policy(id string) string {
	h := maphash.String(r.seed, id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.current[h]; p != "" {
		return p
	}
	return r.previous[h]
}
