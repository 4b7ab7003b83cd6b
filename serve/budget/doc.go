// Package budget bounds what requests spend in a period: money, or tokens, of all callers, of a key, of a policy or of an expert.
//
// Two things keep a budget. A price of its own, in addition to what calls cost, rises while the budget is used faster than it
// lasts, and falls while it is used more slowly: decisions at this price use the budget where it helps most, until the period
// ends. And before a call the most that it can cost is taken from a ledger on disk, so that the budget is never exceeded; what
// the call cost less is given back.
package budget
