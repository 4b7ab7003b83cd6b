// Package metrics counts what the server does, for Prometheus. It owns every collector: other packages call a method per
// event, and know no names of metrics. A nil *Metrics counts nothing, so a caller needs no case without metrics.
//
// Labels have a bounded number of values: routes are patterns, and experts, advice and policies are those of loaded files.
package metrics
