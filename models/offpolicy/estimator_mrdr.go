package offpolicy

// mrdr is dr whose estimates are fitted so that its variance is least: Farajtabar, Chow and Ghavamzadeh, "More robust doubly
// robust off-policy evaluation".
var mrdr = Estimator{
	Name: "mrdr", Estimates: true, Fit: WeightMRDR,
	Term: doublyRobust.Term,
}
