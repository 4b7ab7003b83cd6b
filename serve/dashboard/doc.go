// Package dashboard serves an HTML page at / with what is decided now, at what expected and measured cost, by which
// policies, and how fast, and the same figures as JSON. It is for operators; metrics for Prometheus are in package metrics.
//
// A [Collector] observes every decision and every outcome and keeps sums in sliding windows, so its memory does not grow
// with traffic. [New] returns the handlers that show it. The page works without scripts: every figure is in the HTML that
// the server sends, and the script only fetches the same parts again.
package dashboard
