package offpolicy

// ips is the mean of w c: Horvitz and Thompson, "A generalization of sampling without replacement from a finite universe".
var ips = Estimator{
	Name: "ips",
	Term: func(r Term, _ Tuning) (value, norm float64) { return r.Ratio * r.Cost, 1 },
}
