package dashboard

// merge adds the sums of another minute of the same version. The slices of m must be allocated. The caller merges latencies.
func (m *minute) merge(o *minute) {
	m.decisions += o.decisions
	m.explored += o.explored
	m.guarded += o.guarded
	m.canary += o.canary
	m.otherPrices += o.otherPrices
	m.fellBack += o.fellBack
	m.failed += o.failed
	m.expectedLoss += o.expectedLoss
	m.expectedCost += o.expectedCost
	m.extra += o.extra
	m.priced += o.priced
	m.known += o.known
	m.unused += o.unused
	m.compared += o.compared
	m.measured.merge(o.measured)
	m.residual.merge(o.residual)
	m.fee.merge(o.fee)
	for _, lists := range [][2][]int64{{m.chosen, o.chosen}, {m.executed, o.executed}, {m.uncovered, o.uncovered}} {
		for i, n := range lists[1] {
			lists[0][i] += n
		}
	}
	for _, lists := range [][2][]moments{{m.costOf, o.costOf}, {m.loss, o.loss}, {m.weighted, o.weighted}, {m.hits, o.hits}} {
		for i, more := range lists[1] {
			lists[0][i].merge(more)
		}
	}
	m.mergeMaps(o)
}

// allocate gives every slice an entry per pair.
func (m *minute) allocate(pairs int) {
	for _, list := range []*[]int64{&m.chosen, &m.executed, &m.uncovered} {
		ensureLen(list, pairs)
	}
	for _, list := range []*[]moments{&m.costOf, &m.loss, &m.weighted, &m.hits} {
		ensureLen(list, pairs)
	}
}

func (m *minute) mergeMaps(o *minute) {
	for key, n := range o.attempts {
		if m.attempts == nil {
			m.attempts = make(map[attempt]int64)
		}
		m.attempts[key] += n
	}
	for key, more := range o.shadows {
		if m.shadows == nil {
			m.shadows = make(map[string]*agreement)
		}
		a := m.shadows[key]
		if a == nil {
			a = &agreement{}
			m.shadows[key] = a
		}
		a.n += more.n
		a.same += more.same
		a.cheaper.merge(more.cheaper)
	}
}
