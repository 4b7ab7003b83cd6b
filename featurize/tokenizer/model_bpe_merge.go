package tokenizer

// symbol is a part of a word while its pairs are merged. It is linked to its
// neighbours by their indices in the chain.
type symbol struct {
	id         int32
	prev, next int32 // -1: none
	gone       bool  // merged into the one before it
	unknown    bool  // represents characters that are not in the vocabulary
}

// candidate is a pair that may be merged: the symbol at a position and the next
// one.
type candidate struct{ rank, at, id int32 }

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// mergeQueue is a binary heap of candidates, ordered by rank and then by
// position.
type mergeQueue []candidate

func (q *mergeQueue) push(c candidate) {
	h := append(*q, c)
	i := len(h) - 1
	for i > 0 && c.before(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = c
	*q = h
}

func (q *mergeQueue) pop() candidate {
	h := *q
	top, c := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for child := 1; child < len(h); child = 2*i + 1 {
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(c) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = c
	}
	*q = h
	return top
}

// join merges the pairs of the chain in the order of their ranks, in
// n log n steps.
func (m *bpe) join(s *scratch) {
	chain := s.chain
	s.merges = s.merges[:0]
	for i := range chain {
		chain[i].prev, chain[i].next = int32(i-1), int32(i+1)
		if i == len(chain)-1 {
			chain[i].next = -1
			break
		}
		m.offer(s, int32(i), int32(i+1))
	}
	for len(s.merges) > 0 {
		c := s.merges.pop()
		left := &chain[c.at]
		if left.gone || left.next < 0 {
			continue
		}
		right := &chain[left.next]
		// The pair may have changed since it was queued. As in the reference,
		// it still counts if it gives the same token.
		if to, ok := m.merges[pair(left.id, right.id)]; !ok || to.id != c.id {
			continue
		}
		left.id, left.next = c.id, right.next
		right.gone = true
		if left.next >= 0 {
			chain[left.next].prev = c.at
			m.offer(s, c.at, left.next)
		}
		if left.prev >= 0 {
			m.offer(s, left.prev, c.at)
		}
	}
}

// offer queues a pair if it has a merge.
func (m *bpe) offer(s *scratch, left, right int32) {
	if to, ok := m.merges[pair(s.chain[left].id, s.chain[right].id)]; ok {
		s.merges.push(candidate{rank: to.rank, at: left, id: to.id})
	}
}
