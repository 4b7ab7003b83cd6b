package prices

// Most is the most that a call can cost with at most in tokens of the prompt and out tokens of the answer, of whatever kind
// they are: cached, written to a cache, or of images, sound or reasoning. ok is false if the tokens of prompts or of answers
// have no price.
func (p Period) Most(in, out float64) (money float64, ok bool) {
	money, ok = p.mostAt(in, out)
	for _, t := range p.Above {
		if in <= t.Tokens || !ok {
			continue
		}
		at := p
		at.In, at.Cached, at.Out, at.Special = t.In, t.Cached, t.Out, t.Special
		var more float64
		more, ok = at.mostAt(in, out)
		money = max(money, more)
	}
	if p.Call != nil {
		money += *p.Call
	}
	return money, ok
}

// mostAt is Most by one list of prices, without the price of a call.
func (p Period) mostAt(in, out float64) (money float64, ok bool) {
	if p.In == nil || p.Out == nil {
		return 0, false
	}
	most := map[string]float64{"in": *p.In, "out": *p.Out}
	if p.Cached != nil {
		most["in"] = max(most["in"], *p.Cached)
	}
	for _, s := range p.list() {
		if s.price != nil {
			most[s.whole] = max(most[s.whole], *s.price)
		}
	}
	return (in*most["in"] + out*most["out"]) / 1e6, true
}
