// Package dashboard is the page at / of the server, and the JSON behind it: what is decided now, at what expected and
// measured cost, by which policies, and how fast.
//
// A [Collector] sees every decision and every outcome and keeps sliding windows of sums, so its memory does not grow with
// traffic. [New] makes the handlers that show it. The page is complete without a script: every figure is in the HTML that
// the server sends. The script only fetches the same pieces again.
package dashboard
