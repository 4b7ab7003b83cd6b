package dashboard

import (
	"math"
	"time"

	"pipe/pipeline/decisionlog"
)

// outcomeRing is a ring of the last decisions of a version, which wait for their outcomes. If the traffic is so high that
// the ring would span less than minAge, it stores only a share of the decisions. These are chosen by their random ids, so
// estimates from their outcomes are unbiased.
type outcomeRing struct {
	pairs, capacity int
	ids             []string          // "" for an empty slot
	decisions       []pendingDecision // without propensity and cost
	vectors         []float32         // slots x 2 pairs: propensities, expected costs
	fees            []float32         // slots x pairs
	next            int               // slot of the next decision
	waiting         int               // number of slots that are not empty
	added           []time.Duration   // when
	share           uint64            // decisions whose hash is at most this are kept
	adjustIn        int               // additions until the share may change again
}

// pendingDecision is a decision that waits for its outcome. Its slices share the memory of the ring.
type pendingDecision struct {
	action, executed int
	priced           bool      // cost is known
	propensity, cost []float32 // a propensity is negative if the pair was not available
	fees             []float32 // per pair: added to its loss
}

func (k pendingDecision) fee(pair int) float64 { return float64(k.fees[pair]) }

const (
	minAge       = 15 * time.Minute
	maxRingBytes = 8 << 20 // memory limit of a ring
)

func newOutcomeRing(pairs, most int) outcomeRing {
	return outcomeRing{pairs: pairs, capacity: max(1, min(most, maxRingBytes/(160+12*pairs))), share: math.MaxUint64}
}

// add stores a decision, if its hash is within the share. It returns the slot, or -1 if it was not stored, and the id of the
// decision that it replaced, "" for none.
func (k *outcomeRing) add(now time.Duration, hash uint64, r *decisionlog.Record) (slot int, forgotten string) {
	if hash > k.share || len(r.Propensity) != k.pairs || r.Action < 0 || r.Action >= k.pairs {
		return -1, ""
	}
	slot = k.next
	k.next = (k.next + 1) % k.capacity
	if slot == len(k.ids) {
		k.grow()
	}
	forgotten = k.ids[slot]
	k.adjustShare(now, slot, forgotten != "")
	if forgotten == "" {
		k.waiting++
	}
	k.ids[slot], k.added[slot] = r.ID, now
	head := pendingDecision{action: r.Action, executed: r.Executed, priced: len(r.ExpectedCost) == k.pairs}
	if head.executed >= k.pairs {
		head.executed = -1
	}
	k.decisions[slot] = head
	propensity, cost, fees := k.slices(slot)
	for i, p := range r.Own() { // the propensities of this version, without those of a canary
		if propensity[i] = float32(p); !available(r, i) {
			propensity[i] = -1
		}
	}
	copy(cost, r.ExpectedCost)
	feesOf(fees, r)
	return slot, forgotten
}

// grow adds a slot to a ring that is not full yet.
func (k *outcomeRing) grow() {
	k.ids = append(k.ids, "")
	k.decisions = append(k.decisions, pendingDecision{})
	k.added = append(k.added, 0)
	k.vectors = append(k.vectors, make([]float32, 2*k.pairs)...)
	k.fees = append(k.fees, make([]float32, k.pairs)...)
}

// slices returns the slices of a slot.
func (k *outcomeRing) slices(slot int) (propensity, cost, fees []float32) {
	v := k.vectors[2*slot*k.pairs : 2*(slot+1)*k.pairs]
	return v[:k.pairs], v[k.pairs:], k.fees[slot*k.pairs : (slot+1)*k.pairs]
}

// adjustShare changes the share depending on the age of the decision that is replaced in slot.
func (k *outcomeRing) adjustShare(now time.Duration, slot int, full bool) {
	if k.adjustIn--; !full || k.adjustIn > 0 {
		return
	}
	k.adjustIn = k.capacity
	switch age := now - k.added[slot]; {
	case age < minAge:
		k.share /= 2
	case age > 4*minAge && k.share < math.MaxUint64:
		k.share = 2*k.share + 1
	}
}

// take returns the decision of a slot and empties it.
func (k *outcomeRing) take(slot int) pendingDecision {
	head := k.decisions[slot]
	head.propensity, head.cost, head.fees = k.slices(slot)
	k.ids[slot] = ""
	k.waiting--
	return head
}

// keptShare returns the share of decisions that are stored, 0 to 1.
func (k *outcomeRing) keptShare() float64 { return (float64(k.share) + 1) / (math.MaxUint64 + 1.0) }

// available reports whether a pair was available for a decision.
func available(r *decisionlog.Record, pair int) bool {
	return pair >= len(r.Available) || r.Available[pair]
}

// feesOf writes the fees of every pair at the prices of a decision.
func feesOf(dst []float32, r *decisionlog.Record) {
	clear(dst)
	if len(r.AdviceFees) == 0 || len(r.ExpertFees)*len(r.AdviceFees) != len(dst) {
		return
	}
	if r.PairFees != nil || r.UsagePrices != nil {
		for i := range dst {
			dst[i] = float32(r.FeeOf(i))
		}
		return
	}
	i := 0
	for _, expert := range r.ExpertFees {
		for _, advice := range r.AdviceFees {
			dst[i] = float32(expert + r.Lambda*advice)
			i++
		}
	}
}
