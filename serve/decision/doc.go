// Package decision makes the decisions of a server, whichever protocol a request came by. A [Decider] chooses the version
// of the policy (a canary gets its share of the requests), applies the prices of the request, encodes the inputs, decides,
// explores where that is configured, and runs shadow policies. It writes a record of every decision to the decision log
// and adds the outcomes that come later.
//
// Use it to decide behind a protocol of your own: call [Decider.Decide], execute the pair, fill in the records of the
// [Result], and call [Result.Done] once.
package decision
