package people

import (
	"maps"
	"slices"
	"time"

	"pipe/serve/metrics"
	"pipe/serve/people/queue"
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
	now := p.advance()
	out := Status{OnChosen: p.settings.OnChosen, Experts: []ExpertStatus{}, People: []PersonStatus{}}
	for _, name := range slices.Sorted(maps.Keys(p.experts)) {
		out.Experts = append(out.Experts, p.expertStatus(name, now))
	}
	for i := range p.list {
		out.People = append(out.People, p.personStatus(&p.list[i], now))
	}
	return out
}

func (p *People) expertStatus(name string, now time.Time) ExpertStatus {
	s := ExpertStatus{
		Name: name, Seconds: p.expected(name).Seconds(), Waiting: p.waiting(now).expert[name].Seconds(), Price: p.price(name, now),
		There: p.there(wanted{name, p.able(name, "", nil)}, now),
	}
	for _, i := range p.queue.Waiting() {
		switch {
		case i.Expert != name:
		case i.State(now) == queue.StateOpen:
			s.Open++
		default:
			s.Claimed++
		}
	}
	for _, i := range p.queue.Done() {
		if i.Expert == name && i.Answer != nil {
			s.Answered++
		}
	}
	return s
}

func (p *People) personStatus(o *person, now time.Time) PersonStatus {
	s := PersonStatus{Name: o.Name, Answers: o.Answers, Tags: o.Tags, UsedToday: p.queue.Used(o.Name, o.schedule.Day(now)).Seconds(), Left: o.schedule.Left(now, p.used(o)).Seconds()}
	if _, s.Open = o.schedule.Open(now); !s.Open {
		if next := o.schedule.Next(now); !next.IsZero() {
			s.Next = &next
		}
	}
	if i := p.queue.Held(o.Name, now); i != nil {
		s.Item = i.ID
	}
	return s
}

// Figures are the figures of experts and people for metrics.
func (p *People) Figures() (f metrics.People) {
	s := p.Status()
	for _, e := range s.Experts {
		f.Experts = append(f.Experts, metrics.PeopleExpert{Name: e.Name, Open: e.Open, Claimed: e.Claimed, Seconds: e.Seconds, Waiting: e.Waiting, Price: e.Price, There: e.There})
	}
	for _, o := range s.People {
		f.People = append(f.People, metrics.Person{Name: o.Name, Used: o.UsedToday, Left: o.Left})
	}
	return f
}
