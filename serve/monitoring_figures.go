package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"pipe/pipeline/monitor"
)

// monitorFigures collects the metrics of a monitor when they are scraped.
type monitorFigures struct{ of *monitoring }

// describeMonitor describes a metric of the monitor.
func describeMonitor(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("pipe_monitor_"+name, help, append([]string{"policy"}, labels...), nil)
}

// The metrics of the monitor.
var (
	monitorVerdict  = describeMonitor("verdict", "What a family of tests found: 0 nothing, 1 a warning, 2 an alarm; -1 too few rows to say, or not watched.", "family")
	monitorWatched  = describeMonitor("watched", "1 while the served version is watched; 0: it is not, or not yet, and there are no figures.")
	monitorSeen     = describeMonitor("window_rows", "Rows since the window of inputs and decisions began.")
	monitorChanged  = describeMonitor("changed_features", "Features whose distribution differs from the baseline's.")
	monitorKnown    = describeMonitor("outcomes", "Outcomes that were counted.")
	monitorMean     = describeMonitor("mean_outcome", "Mean loss of executed pairs.")
	monitorResidual = describeMonitor("residual", "Mean of outcome minus expected outcome.")
	monitorEvidence = describeMonitor("alarm_evidence", "Evidence that outcomes are worse than the baseline's; the alarm rises at pipe_monitor_alarm_rises_at.")
	monitorRisesAt  = describeMonitor("alarm_rises_at", "Evidence at which the alarm of outcomes rises.")
	monitorSkipped  = describeMonitor("skipped", "Requests that were not counted because too many waited.")
)

// Describe implements prometheus.Collector.
func (f monitorFigures) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{monitorVerdict, monitorWatched, monitorSeen, monitorChanged, monitorKnown, monitorMean, monitorResidual, monitorEvidence, monitorRisesAt, monitorSkipped} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (f monitorFigures) Collect(to chan<- prometheus.Metric) {
	s := f.of.status()
	set := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{f.of.name}, labels...)...)
	}
	set(monitorVerdict, verdictNumber(s.Inputs.Verdict), monitor.Inputs)
	set(monitorVerdict, verdictNumber(s.Decisions.Verdict), monitor.Decisions)
	set(monitorVerdict, verdictNumber(s.Outcomes.Verdict), monitor.Outcomes)
	if s.Guarantee != nil {
		set(monitorVerdict, verdictNumber(s.Guarantee.Verdict), monitor.Guarantee)
	}
	set(monitorSkipped, float64(f.of.skipped.Load()))
	if !s.Watched {
		set(monitorWatched, 0)
		return
	}
	set(monitorWatched, 1)
	set(monitorSeen, float64(s.New.Rows))
	set(monitorChanged, float64(s.Inputs.Changed))
	set(monitorKnown, float64(s.Outcomes.Known))
	if s.Outcomes.Mean != nil {
		set(monitorMean, *s.Outcomes.Mean)
	}
	if s.Outcomes.Residual != nil {
		set(monitorResidual, *s.Outcomes.Residual)
	}
	if a := s.Outcomes.Alarm; a != nil {
		set(monitorEvidence, a.Evidence)
		set(monitorRisesAt, a.RisesAt)
	}
}

// verdictNumber is the value of a verdict as a metric.
func verdictNumber(v monitor.Verdict) float64 {
	switch v {
	case monitor.OK:
		return 0
	case monitor.Warning:
		return 1
	case monitor.Alarm:
		return 2
	}
	return -1
}
