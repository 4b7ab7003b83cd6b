package offpolicy

// shrunk is dr with the ratio lambda w / (w^2 + lambda): Su, Dimakopoulou, Krishnamurthy and Dudik, "Doubly robust off-policy
// evaluation with shrinkage".
var shrunk = Estimator{
	Name: "dros", Estimates: true,
	Term: func(r Term, t Tuning) (value, norm float64) {
		if r.Ratio > 0 {
			r.Ratio *= t.Lambda / (r.Ratio*r.Ratio + t.Lambda)
		}
		return doublyRobust.Term(r, t)
	},
}
