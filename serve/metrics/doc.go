// Package metrics has every Prometheus metric of a server. Other packages call a method for each event and know no names
// of metrics. A nil *[Metrics] counts nothing, so that callers need no special case without metrics.
//
// Labels have a bounded number of values: routes are patterns, and experts, advice and policies are those of loaded files.
package metrics
