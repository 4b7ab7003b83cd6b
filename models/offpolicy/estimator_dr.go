package offpolicy

// doublyRobust is the mean of sum_a pi q + w (c - q): Dudik, Langford and Li, "Doubly robust policy evaluation and learning".
var doublyRobust = Estimator{
	Name: "dr", Estimates: true,
	Term: func(r Term, _ Tuning) (value, norm float64) { return r.Expected + r.Ratio*(r.Cost-r.Estimate), 1 },
}
