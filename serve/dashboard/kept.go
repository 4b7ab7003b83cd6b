package dashboard

import (
	"math"
	"time"

	"pipe/pipeline/decisionlog"
)

// kept are the last decisions of a version, in a ring, which wait for their outcomes. Where traffic is so high that the
// ring would hold less than leastAge, only a share of the decisions is kept. Which ones depends on their random id alone,
// so estimates from their outcomes stay right.
type kept struct {
	pairs, most int
	ids         []string        // "" is an empty slot
	heads       []keptDecision  // without propensity and cost
	vectors     []float32       // slots x 2 pairs: propensities, expected costs
	fees        []float32       // slots x pairs
	next        int             // slot of the next decision
	waiting     int             // slots that are not empty
	added       []time.Duration // when
	share       uint64          // decisions whose hash is at most this are kept
	adapt       int             // additions until the share may change again
}

// keptDecision is a decision that waits for its outcome. Its slices belong to the ring.
type keptDecision struct {
	action, executed int
	priced           bool // cost is known
	propensity, cost []float32
	fees             []float32 // of every pair: what is added to its loss
}

func (k keptDecision) fee(pair int) float64 { return float64(k.fees[pair]) }

const (
	leastAge  = 15 * time.Minute
	keptBytes = 8 << 20 // most memory of one ring
)

func newKept(pairs, most int) kept {
	return kept{pairs: pairs, most: max(1, min(most, keptBytes/(160+12*pairs))), share: math.MaxUint64}
}

// add keeps a decision, if its hash is among the share. It returns its slot, else -1, and the id of the decision that it
// displaced, "" for none.
func (k *kept) add(now time.Duration, hash uint64, r *decisionlog.Record) (slot int, forgotten string) {
	if hash > k.share || len(r.Propensity) != k.pairs || r.Action < 0 || r.Action >= k.pairs {
		return -1, ""
	}
	slot = k.next
	k.next = (k.next + 1) % k.most
	if slot == len(k.ids) {
		k.grow()
	}
	forgotten = k.ids[slot]
	k.adjust(now, slot, forgotten != "")
	if forgotten == "" {
		k.waiting++
	}
	k.ids[slot], k.added[slot] = r.ID, now
	head := keptDecision{action: r.Action, executed: r.Executed, priced: len(r.ExpectedCost) == k.pairs}
	if head.executed >= k.pairs {
		head.executed = -1
	}
	k.heads[slot] = head
	propensity, cost, fees := k.parts(slot)
	for i, p := range r.Own() { // the ring is of one version
		propensity[i] = float32(p)
	}
	copy(cost, r.ExpectedCost)
	feesOf(fees, r)
	return slot, forgotten
}

// grow adds a slot to a ring that is not full yet.
func (k *kept) grow() {
	k.ids = append(k.ids, "")
	k.heads = append(k.heads, keptDecision{})
	k.added = append(k.added, 0)
	k.vectors = append(k.vectors, make([]float32, 2*k.pairs)...)
	k.fees = append(k.fees, make([]float32, k.pairs)...)
}

// parts are the slices of a slot.
func (k *kept) parts(slot int) (propensity, cost, fees []float32) {
	v := k.vectors[2*slot*k.pairs : 2*(slot+1)*k.pairs]
	return v[:k.pairs], v[k.pairs:], k.fees[slot*k.pairs : (slot+1)*k.pairs]
}

// adjust changes the share by the age of the decision that is displaced from slot.
func (k *kept) adjust(now time.Duration, slot int, full bool) {
	if k.adapt--; !full || k.adapt > 0 {
		return
	}
	k.adapt = k.most
	switch age := now - k.added[slot]; {
	case age < leastAge:
		k.share /= 2
	case age > 4*leastAge && k.share < math.MaxUint64:
		k.share = 2*k.share + 1
	}
}

// take returns the decision of a slot and empties it.
func (k *kept) take(slot int) keptDecision {
	head := k.heads[slot]
	head.propensity, head.cost, head.fees = k.parts(slot)
	k.ids[slot] = ""
	k.waiting--
	return head
}

// part is the share of decisions that are kept, 0 to 1.
func (k *kept) part() float64 { return (float64(k.share) + 1) / (math.MaxUint64 + 1.0) }

// feesOf writes the fees of every pair at the prices of a decision.
func feesOf(dst []float32, r *decisionlog.Record) {
	clear(dst)
	if len(r.AdviceFees) == 0 || len(r.ExpertFees)*len(r.AdviceFees) != len(dst) {
		return
	}
	if r.PairFees != nil {
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
