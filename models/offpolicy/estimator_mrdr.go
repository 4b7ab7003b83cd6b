package offpolicy

// mrdr is dr whose estimates are fitted so that its variance is least: Farajtabar, Chow and Ghavamzadeh, "More robust doubly
// robust off-policy evaluation".
var mrdr = Estimator{
	Name: "mrdr", About: "doubly robust with estimates fitted for the least variance", Estimates: true, Fit: WeightMRDR,
	Term: doublyRobust.Term,
}
