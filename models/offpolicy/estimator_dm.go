package offpolicy

// direct is the mean over rows of the estimated cost under the policy.
var direct = Estimator{
	Name: "dm", Estimates: true, Caution: "believes the models of costs: its intervals do not have their error",
	Term: func(r Term, _ Tuning) (value, norm float64) { return r.Expected, 1 },
}
