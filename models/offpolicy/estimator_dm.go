package offpolicy

// direct is the mean over rows of the estimated cost under the policy.
var direct = Estimator{
	Name: "dm", About: "direct method: the estimated costs alone; as wrong as they are", Estimates: true,
	Term: func(r Term, _ Tuning) (value, norm float64) { return r.Expected, 1 },
}
