package people

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"pipe/serve/people/hours"
)

// team are settings with what follows from them. It does not change.
type team struct {
	Settings // experts have their defaults
	people   []person
}

// person is a person with the schedule.
type person struct {
	Person
	schedule *hours.Schedule
	experts  []string
}

func newTeam(s Settings) (*team, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	t := &team{Settings: s}
	t.Experts = maps.Clone(s.Experts)
	for name, e := range s.Experts {
		t.Experts[name] = e.withDefaults()
	}
	for _, one := range s.List {
		schedule, err := one.Schedule()
		if err != nil {
			return nil, err
		}
		o := person{Person: one, schedule: schedule}
		for _, a := range one.Answers {
			expert, _, _ := strings.Cut(a, "/")
			o.experts = append(o.experts, expert)
		}
		slices.Sort(o.experts)
		o.experts = slices.Compact(o.experts)
		t.people = append(t.people, o)
	}
	return t, nil
}

func (t *team) has(expert string) bool {
	_, ok := t.Experts[expert]
	return ok
}

// able is the set of people, one bit each, who may answer.
func (t *team) able(n *New) (set uint64) {
	for i := range t.people {
		if t.people[i].able(n) {
			set |= 1 << i
		}
	}
	return set
}

func (o *person) able(n *New) bool {
	if !slices.Contains(o.Answers, n.Expert) && !slices.Contains(o.Answers, n.pair()) {
		return false
	}
	return !slices.ContainsFunc(n.Tags, func(t string) bool { return !slices.Contains(o.Tags, t) })
}

// pair is the name of the pair, or of the expert alone.
func (n *New) pair() string {
	if n.Advice == "" {
		return n.Expert
	}
	return n.Expert + "/" + n.Advice
}

// person returns a person by name.
func (t *team) person(name string) (*person, error) {
	i := slices.IndexFunc(t.people, func(o person) bool { return o.Name == name })
	if i < 0 {
		return nil, refuse(http.StatusForbidden, "nobody", "%.100q is not one of the people of this server", name)
	}
	return &t.people[i], nil
}
