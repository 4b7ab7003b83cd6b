// Package offpolicy estimates what another policy would have cost, from logged decisions of which only the executed pair's
// cost is known.
//
// A [Log] has the decisions. [Estimate] gives the cost of a target policy and its gain over a baseline, with intervals and
// with what the log can say of the target's choices ([Support]). Doubly robust estimators need estimates of all costs, which
// [FitCosts] makes, cross-fitted. Propensities that were not logged can be estimated by [EstimatePropensities]; that is a
// guess, so nothing here does it by itself. Package anytime has intervals that may be looked at again and again, which those
// of Estimate may not.
//
// The propensity of a row is that of the whole system. Where a canary of share s decides, it is
// (1-s) p_live(a|x) + s p_canary(a|x), not that of the policy that was drawn: with the latter the estimates are wrong. A row
// whose executed pair is a fallback of the drawn one does not belong in a log.
package offpolicy
