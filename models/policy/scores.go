package policy

// Scores writes the score of every action for the raw features x (FeatureDim
// values) to dst, J(K+1) values, higher is better. It is the reference for the
// exported graph, in float64; the policy must be valid.
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

// Decide returns the action for the raw features x: the largest of Scores, the
// smallest index on ties.
func (p *Policy) Decide(x []float32) int {
	scores := make([]float64, p.Actions.Len())
	p.Scores(scores, x)
	return argmaxFirst(scores)
}
