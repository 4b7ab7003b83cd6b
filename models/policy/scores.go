package policy

// Scores writes the scores of one row to dst, J(K+1) values, higher is better. x
// has FeatureDim values, not standardised. It is the Go reference of the exported
// graph, in float64. The policy must be valid: see [Policy.Validate].
func (p *Policy) Scores(dst []float64, x []float32) {
	d, err := p.decoder()
	if err != nil {
		panic("policy: " + err.Error())
	}
	in := make([]float64, len(x))
	for c, v := range x {
		in[c] = float64(v)
		if p.Standard.Mean != nil {
			in[c] = (in[c] - float64(p.Standard.Mean[c])) * float64(p.Standard.Scale[c])
		}
	}
	outputs := make([][]float64, len(p.Members))
	for i, m := range p.Members {
		outputs[i] = m.Forward(in)
	}
	d.scores(dst, p, outputs)
}

// Decide returns the action for one row: the largest of [Policy.Scores], the smallest index on ties. A [Decider] is
// faster and runs the file itself.
func (p *Policy) Decide(x []float32) int {
	scores := make([]float64, p.Actions.Len())
	p.Scores(scores, x)
	return argmaxFirst(scores)
}
