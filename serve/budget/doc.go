// Package budget bounds what requests spend in a period: money, or tokens, of all callers, of a key, of a policy or of an expert.
//
// Two mechanisms keep a budget. The first paces it: each budget has a price, which decisions add to what calls cost. The price rises
// while the budget is used faster than it lasts, and falls while it is used more slowly, so that the budget is used where it helps
// most. The second enforces it: before a call, the most that it can cost is taken from a ledger on disk, and afterwards the difference
// to what it did cost is given back. So the budget is never exceeded.
package budget
