package offpolicy

// capped is ips whose ratios are at most tau.
var capped = Estimator{
	Name: "capped", About: "inverse propensity scoring with ratios of at most tau",
	Term: func(r Term, t Tuning) (value, norm float64) { return min(r.Ratio, t.Tau) * r.Cost, 1 },
}
