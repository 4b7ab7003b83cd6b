package risk

// fixedSequence tests hypotheses in their order. It starts at several of them, which are evenly spread, and goes on from each as
// long as what it tests is rejected. rejects tells whether a hypothesis is rejected at a level, which is delta/starts. It returns
// the rejected hypotheses. The probability that a true one is among them is at most delta, since every walk stops at the first
// true one that it does not reject, and there are as many walks as starts.
func fixedSequence(hypotheses, starts int, delta float64, rejects func(hypothesis int, level float64) bool) []bool {
	rejected := make([]bool, hypotheses)
	starts = min(starts, hypotheses)
	if starts < 1 {
		return rejected
	}
	level, apart := delta/float64(starts), hypotheses/starts
	for s := range starts {
		for i := s * apart; i < hypotheses && !rejected[i] && rejects(i, level); i++ {
			rejected[i] = true
		}
	}
	return rejected
}
