// Package anytime bounds what another policy would have cost, or saved, by an interval that may be looked at after every
// decision. A [Sequence] takes decisions of which only the executed pair's cost is known. Its state has a fixed size and
// can be kept as JSON, and the package imports no other one, so a service that decides can hold many.
//
// The exact interval holds at all times at once with the chosen probability, whatever the law of the costs is, if:
//
//   - the costs are within the stated range;
//   - the logged probabilities are those with which the whole system drew the executed pair, given everything before it;
//     with a canary of share s they are (1-s) p_live + s p_canary, not those of the policy that was drawn;
//   - the estimates of the costs were made without the row and the rows after it, as by a deployed policy;
//   - no row is left out for what it cost, and in a sample of a log every row is kept with the same chance;
//   - units are rows whose pairs are drawn anew. Where a user keeps a policy for many requests, the user is the unit.
//
// It is the predictable plug-in empirical Bernstein confidence sequence with truncated doubly robust terms of Waudby-Smith,
// Wu, Ramdas, Karampatziakis and Mineiro, "Anytime-valid off-policy inference for contextual bandits" (arXiv 2210.10768),
// with signed terms for the gain over a second policy.
package anytime
