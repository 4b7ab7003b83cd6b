package offpolicy

// switched is dr without corrections whose ratio is above tau: Wang, Agarwal and Dudik, "Optimal and adaptive off-policy
// evaluation in contextual bandits".
var switched = Estimator{
	Name: "switch", Estimates: true,
	Term: func(r Term, t Tuning) (value, norm float64) {
		if r.Ratio > t.Tau {
			return r.Expected, 1
		}
		return doublyRobust.Term(r, t)
	},
}
