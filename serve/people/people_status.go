package people

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Status says how much waits, and who works.
type Status struct {
	OnChosen OnChosen       `json:"on_chosen"`
	Experts  []ExpertStatus `json:"experts"`
	People   []PersonStatus `json:"people"`
}

// ExpertStatus is the state of the queue of an expert.
type ExpertStatus struct {
	Name     string  `json:"name"`
	Open     int     `json:"open"`             // items that wait
	Claimed  int     `json:"claimed"`          // items in the hands of people
	Seconds  float64 `json:"expected_seconds"` // of an answer
	Waiting  float64 `json:"waiting_seconds"`  // expected work of both
	Price    float64 `json:"price"`            // of an answer beside its fee, in units of the loss
	There    bool    `json:"there"`            // somebody has the hours for another item without tags
	Answered int     `json:"answered"`         // answers that are kept
}

// PersonStatus is the state of a person.
type PersonStatus struct {
	Name      string     `json:"name"`
	Answers   []string   `json:"answers"`
	Tags      []string   `json:"tags,omitempty"`
	Open      bool       `json:"open"`           // these are office hours
	Next      *time.Time `json:"next,omitempty"` // when office hours begin
	UsedToday float64    `json:"used_today_seconds"`
	Left      float64    `json:"left_seconds"` // from now on without a break
	Item      string     `json:"item,omitempty"`
}

// Status returns the state of all experts and people.
func (p *People) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, t := p.advance(), p.team.Load()
	out := Status{OnChosen: t.OnChosen, Experts: []ExpertStatus{}, People: []PersonStatus{}}
	for _, name := range slices.Sorted(maps.Keys(t.Experts)) {
		w := p.waiting(now).expert[name]
		s := ExpertStatus{
			Name: name, Open: w.open, Claimed: w.claimed, Seconds: p.expected(name).Seconds(), Waiting: w.work.Seconds(), Price: p.price(name, now),
			There: p.there(wanted{name, t.able(&New{Expert: name})}, now),
		}
		for _, i := range p.queue.done {
			if i.Expert == name && i.Answer != nil {
				s.Answered++
			}
		}
		out.Experts = append(out.Experts, s)
	}
	for i := range t.people {
		out.People = append(out.People, p.personStatus(&t.people[i], now))
	}
	return out
}

func (p *People) personStatus(o *person, now time.Time) PersonStatus {
	s := PersonStatus{Name: o.Name, Answers: o.Answers, Tags: o.Tags, UsedToday: p.queue.used[o.Name][o.schedule.Day(now)].Seconds(), Left: o.schedule.Left(now, p.used(o)).Seconds()}
	if _, s.Open = o.schedule.Open(now); !s.Open {
		if next := o.schedule.Next(now); !next.IsZero() {
			s.Next = &next
		}
	}
	if i := p.held(o.Name, now); i != nil {
		s.Item = i.ID
	}
	return s
}

// The metrics of people.
var (
	openItems     = describe("people_open", "Items that wait for people.", "expert")
	claimedItems  = describe("people_claimed", "Items in the hands of people.", "expert")
	expectedTime  = describe("people_expected_seconds", "Expected time of an answer of people.", "expert")
	waitingTime   = describe("people_waiting_seconds", "Expected work of the items that are not answered.", "expert")
	waitingPrice  = describe("people_price", "What an answer costs beside its fee, because work waits, in units of the loss.", "expert")
	somebodyThere = describe("people_there", "1 if a person has the hours for another item without tags, else 0.", "expert")
	personUsed    = describe("person_used_seconds", "Time that a person has used today. A claim counts as all of its time.", "person")
	personLeft    = describe("person_left_seconds", "Time for which a person can work from now on without a break.", "person")
)

func describe(name, help, label string) *prometheus.Desc {
	return prometheus.NewDesc("pipe_"+name, help, []string{label}, nil)
}

// Describe implements prometheus.Collector.
func (p *People) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{openItems, claimedItems, expectedTime, waitingTime, waitingPrice, somebodyThere, personUsed, personLeft} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (p *People) Collect(to chan<- prometheus.Metric) {
	set := func(d *prometheus.Desc, value float64, name string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, name)
	}
	all := p.Status()
	for _, e := range all.Experts {
		set(openItems, float64(e.Open), e.Name)
		set(claimedItems, float64(e.Claimed), e.Name)
		set(expectedTime, e.Seconds, e.Name)
		set(waitingTime, e.Waiting, e.Name)
		set(waitingPrice, e.Price, e.Name)
		set(somebodyThere, map[bool]float64{true: 1}[e.There], e.Name)
	}
	for _, o := range all.People {
		set(personUsed, o.UsedToday, o.Name)
		set(personLeft, o.Left, o.Name)
	}
}
