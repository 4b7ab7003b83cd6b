package metrics

import "github.com/prometheus/client_golang/prometheus"

// People are the figures of experts that are people.
type People struct {
	Experts []PeopleExpert
	People  []Person
}

// PeopleExpert has the figures of the queue of an expert. Times are in seconds.
type PeopleExpert struct {
	Name                    string
	Open, Claimed           int
	Seconds, Waiting, Price float64
	There                   bool
}

// Person has the seconds of a person: used today, and left without a break.
type Person struct {
	Name       string
	Used, Left float64
}

var (
	peopleFigures = []struct {
		about *prometheus.Desc
		value func(e *PeopleExpert) float64
	}{
		{peopleDesc("pipe_people_open", "Items that wait for people.", "expert"), func(e *PeopleExpert) float64 { return float64(e.Open) }},
		{peopleDesc("pipe_people_claimed", "Items in the hands of people.", "expert"), func(e *PeopleExpert) float64 { return float64(e.Claimed) }},
		{peopleDesc("pipe_people_expected_seconds", "Expected time of an answer of people.", "expert"), func(e *PeopleExpert) float64 { return e.Seconds }},
		{peopleDesc("pipe_people_waiting_seconds", "Expected work of the items that are not answered.", "expert"), func(e *PeopleExpert) float64 { return e.Waiting }},
		{peopleDesc("pipe_people_price", "What an answer costs beside its fee, because work waits, in units of the loss.", "expert"), func(e *PeopleExpert) float64 { return e.Price }},
		{peopleDesc("pipe_people_there", "1 if a person has the hours for another item without tags, else 0.", "expert"), func(e *PeopleExpert) float64 {
			if e.There {
				return 1
			}
			return 0
		}},
	}
	personUsed = peopleDesc("pipe_person_used_seconds", "Time that a person has used today. A claim counts as all of its time.", "person")
	personLeft = peopleDesc("pipe_person_left_seconds", "Time for which a person can work from now on without a break.", "person")
)

func peopleDesc(name, help, label string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{label}, nil)
}

// peopleCollector reads the figures when metrics are scraped.
type peopleCollector struct{ figures func() People }

// WatchPeople registers the metrics of people.
func (m *Metrics) WatchPeople(r *prometheus.Registry, figures func() People) {
	if m != nil {
		r.MustRegister(&peopleCollector{figures})
	}
}

// Describe implements prometheus.Collector.
func (c *peopleCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range peopleFigures {
		to <- f.about
	}
	to <- personUsed
	to <- personLeft
}

// Collect implements prometheus.Collector.
func (c *peopleCollector) Collect(to chan<- prometheus.Metric) {
	all := c.figures()
	for _, e := range all.Experts {
		for _, f := range peopleFigures {
			to <- prometheus.MustNewConstMetric(f.about, prometheus.GaugeValue, f.value(&e), e.Name)
		}
	}
	for _, o := range all.People {
		to <- prometheus.MustNewConstMetric(personUsed, prometheus.GaugeValue, o.Used, o.Name)
		to <- prometheus.MustNewConstMetric(personLeft, prometheus.GaugeValue, o.Left, o.Name)
	}
}
