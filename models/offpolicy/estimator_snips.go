package offpolicy

// snips is sum(w c) / sum(w): Swaminathan and Joachims, "The self-normalized estimator for counterfactual learning".
var snips = Estimator{
	Name: "snips",
	Term: func(r Term, _ Tuning) (value, norm float64) { return r.Ratio * r.Cost, r.Ratio },
}
