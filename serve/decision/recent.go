package decision

import (
	"hash/maphash"
	"sync"

	"pipe/pipeline/decisionlog"
)

// recent remembers the policies of the last decisions, so that outcomes are counted by policy. It holds at least
// recentRoom decisions, in two generations.
type recent struct {
	mu          sync.Mutex
	seed        maphash.Seed
	now, before map[uint64]string // hash of a decision's id -> name of its policy
}

const recentRoom = 1 << 16

func newRecent() *recent { return &recent{seed: maphash.MakeSeed(), now: map[uint64]string{}} }

// add remembers decisions of a policy. Outcomes of those that no policy decided on say nothing about it.
func (r *recent) add(policy string, records []*decisionlog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range records {
		if rec.IsFixed() {
			continue
		}
		if len(r.now) >= recentRoom {
			r.now, r.before = map[uint64]string{}, r.now
		}
		r.now[maphash.String(r.seed, rec.ID)] = policy
	}
}

// policy is the policy of a decision; "" if it is not known any more.
func (r *recent) policy(id string) string {
	h := maphash.String(r.seed, id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.now[h]; p != "" {
		return p
	}
	return r.before[h]
}
