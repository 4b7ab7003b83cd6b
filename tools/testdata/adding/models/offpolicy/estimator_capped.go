package offpolicy

// capped is ips whose ratios are at most tau.
var capped = Estimator{
	Name: "capped", Caution: "ratios are at most tau, so estimates are biased where they would be larger",
	Term: func(r Term, t Tuning) (value, norm float64) { return min(r.Ratio, t.Tau) * r.Cost, 1 },
}
