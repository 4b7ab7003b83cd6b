package people

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"pipe/internal/config"
	"pipe/serve/people/hours"
)

// Settings are the people of a server. Without experts there are none.
type Settings struct {
	Folder config.Path `yaml:"folder"` // of the journal
	// OnChosen says what a caller of the gateway gets when an expert that is people was chosen.
	OnChosen  OnChosen          `yaml:"on_chosen"`
	Experts   map[string]Expert `yaml:"experts"` // by the names that policies use
	List      []Person          `yaml:"list"`
	Queue     int               `yaml:"queue"`      // most items that are not finished
	ItemBytes int               `yaml:"item_bytes"` // most bytes of an item
	Keep      time.Duration     `yaml:"keep"`       // how long finished items are kept
	KeepItems int               `yaml:"keep_items"` // most finished items that are kept
}

// OnChosen says what a caller of the gateway gets when an expert that is people was chosen.
type OnChosen string

// The values of OnChosen.
const (
	Next   OnChosen = "next"   // the answer of the next best pair
	Ticket OnChosen = "ticket" // 202, and where to ask for the answer
)

// Expert is an expert of policies that is people.
type Expert struct {
	// Seconds is how long an answer takes, until that is known from answers.
	Seconds float64 `yaml:"seconds"`
	// Lease is how long a person may have an item without a sign of life.
	Lease time.Duration `yaml:"lease"`
	// Within is the time in which an answer is wanted: if the people have no hours for it until then, the expert is not available.
	Within time.Duration `yaml:"within"`
	// Full is how much work waits when an answer that takes Seconds costs a loss of 1.
	Full time.Duration `yaml:"full"`
}

// Person is somebody who answers.
type Person struct {
	Name    string   `yaml:"name"`
	Key     string   `yaml:"key"`     // name of the access key; empty: the person's name
	Answers []string `yaml:"answers"` // experts, or pairs such as reviewer/notes
	Tags    []string `yaml:"tags"`    // items with other tags are not for the person

	hours.Settings `yaml:",inline"`
}

// DefaultSettings have no experts.
func DefaultSettings() Settings {
	return Settings{OnChosen: Next, Queue: 1000, ItemBytes: 256 << 10, Keep: 30 * 24 * time.Hour, KeepItems: 10_000}
}

// withDefaults fills in what is not set.
func (e Expert) withDefaults() Expert {
	e.Lease, e.Within, e.Full = cmp.Or(e.Lease, 10*time.Minute), cmp.Or(e.Within, 24*time.Hour), cmp.Or(e.Full, 30*time.Minute)
	return e
}

// Enabled reports whether there are experts that are people.
func (s *Settings) Enabled() bool { return len(s.Experts) > 0 }

// Limits of settings.
const (
	maxPeople  = 64 // a set of them is a word
	maxExperts = 64
	maxQueue   = 100_000
	maxItem    = 16 << 20
	maxTags    = 32
	maxWithin  = 31 * 24 * time.Hour // as far as hours look ahead
)

var nameOf = regexp.MustCompile(`^[A-Za-z0-9._@-]{1,64}$`)

// Validate reports every problem.
func (s *Settings) Validate() error {
	var p config.Problems
	p.Check(s.OnChosen == Next || s.OnChosen == Ticket, "on_chosen: is %q, neither %s nor %s", s.OnChosen, Next, Ticket)
	p.Check(s.Queue >= 1 && s.Queue <= maxQueue, "queue: is %d, not 1 to %d", s.Queue, maxQueue)
	p.Check(s.ItemBytes >= 1024 && s.ItemBytes <= maxItem, "item_bytes: is %d, not 1024 to %d", s.ItemBytes, maxItem)
	p.Check(s.Keep > 0, "keep: is %v; it must be positive", s.Keep)
	p.Check(s.KeepItems >= 1 && s.KeepItems <= 10*maxQueue, "keep_items: is %d, not 1 to %d", s.KeepItems, 10*maxQueue)
	p.Check(len(s.Experts) <= maxExperts, "experts: there are %d, more than %d", len(s.Experts), maxExperts)
	p.Check(len(s.List) <= maxPeople, "list: there are %d people, more than %d", len(s.List), maxPeople)
	p.Check(!s.Enabled() || s.Folder != "", "folder: it must be set, so that items survive a restart")
	p.Check(s.Enabled() || len(s.List) == 0, "experts: there are none for the people of the list")
	for _, name := range slices.Sorted(maps.Keys(s.Experts)) {
		p.Check(name != "" && !strings.Contains(name, "/"), "experts: %q cannot be the name of an expert", name)
		p.Add(config.Under("experts."+name, s.Experts[name].withDefaults().validate()))
		served := slices.ContainsFunc(s.List, func(o Person) bool {
			return slices.ContainsFunc(o.Answers, func(a string) bool { return a == name || strings.HasPrefix(a, name+"/") })
		})
		p.Check(served, "experts.%s: nobody of the list answers for it", name)
	}
	p.Add(s.checkList())
	return p.Err()
}

func (e Expert) validate() error {
	var p config.Problems
	p.Check(e.Seconds > 0 && e.Seconds <= 86400, "seconds: is %g; how long an answer takes must be above 0 and at most 86400", e.Seconds)
	p.Check(e.Lease >= time.Second && e.Lease <= 24*time.Hour, "lease: is %v, not 1s to 24h", e.Lease)
	p.Check(e.Within >= time.Second && e.Within <= maxWithin, "within: is %v, not 1s to %v", e.Within, maxWithin)
	p.Check(e.Full > 0 && e.Full <= 10*maxWithin, "full: is %v; it must be above 0 and at most %v", e.Full, 10*maxWithin)
	return p.Err()
}

// checkList reports the problems of the people.
func (s *Settings) checkList() error {
	var p config.Problems
	names, keys := map[string]bool{}, map[string]bool{}
	for i, one := range s.List {
		at := fmt.Sprintf("list.%d", i)
		p.Check(nameOf.MatchString(one.Name), "%s.name: %q is not 1 to 64 letters, digits and . _ @ -", at, one.Name)
		p.Check(!names[one.Name], "%s.name: %q is there twice", at, one.Name)
		p.Check(!keys[one.key()], "%s.key: %q is the key of two people", at, one.key())
		names[one.Name], keys[one.key()] = true, true
		p.Check(len(one.Answers) > 0, "%s.answers: %s answers for no expert", at, one.Name)
		for _, a := range one.Answers {
			expert, _, _ := strings.Cut(a, "/")
			_, known := s.Experts[expert]
			p.Check(known, "%s.answers: there is no expert %q under experts", at, expert)
		}
		p.Add(config.Under(at, checkTags(one.Tags)))
		p.Add(config.Under(at, one.Settings.Validate()))
	}
	return p.Err()
}

// key is the name of the person's access key.
func (p *Person) key() string { return cmp.Or(p.Key, p.Name) }

// checkTags reports tags that cannot be.
func checkTags(tags []string) error {
	if len(tags) > maxTags {
		return fmt.Errorf("tags: there are %d, more than %d", len(tags), maxTags)
	}
	for _, t := range tags {
		if !nameOf.MatchString(t) {
			return fmt.Errorf("tags: %.80q is not 1 to 64 letters, digits and . _ @ -", t)
		}
	}
	return nil
}
