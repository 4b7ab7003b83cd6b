package people

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
)

// crash copies a queue as a kill leaves it: the journal up to the last confirmed change, and some of what came after it.
func crash(t testing.TB, s Settings, torn []byte) Settings {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(string(s.Folder), "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s.Folder = config.Path(filepath.Join(t.TempDir(), "people"))
	if err := errors.Join(os.Mkdir(string(s.Folder), 0o700), os.WriteFile(filepath.Join(string(s.Folder), "journal.jsonl"), append(text, torn...), 0o600)); err != nil {
		t.Fatal(err)
	}
	return s
}

// play is a random run of people, with what was confirmed of it.
type play struct {
	t     testing.TB
	r     *rand.Rand
	c     *clock
	s     Settings
	p     *People
	items map[string]*Item // as they were confirmed last
	order []string
	spans map[string][]span // of people: when they had an item
	open  map[string]span   // of people: the item that they have
}

type span struct {
	item, token  string
	since, until time.Time
}

// step does something at random.
func (y *play) step() {
	names := []string{"ana", "ben", "eva"}
	name := names[y.r.IntN(3)]
	switch y.r.IntN(12) {
	case 0, 1, 2:
		n := New{Expert: []string{"reviewer", "reviewer", "chief"}[y.r.IntN(3)], Advice: []string{"", "notes"}[y.r.IntN(2)], Question: json.RawMessage(fmt.Sprint(y.r.IntN(5)))}
		if y.r.IntN(2) == 0 {
			n.Key = fmt.Sprint(y.r.IntN(30))
		}
		if i, created, err := y.p.Put(n); err == nil {
			if _, known := y.items[i.ID]; known == created {
				y.t.Fatalf("created %v, known %v", created, known)
			}
			if created {
				y.order = append(y.order, i.ID)
			}
			y.confirm(i)
		} else if code(err) != "key" {
			y.t.Fatal(err)
		}
	case 3, 4, 5:
		if i, found, err := y.p.ClaimNext(name); found && err == nil {
			y.claimed(name, i)
		}
	case 6:
		if id := y.any(); id != "" {
			if i, err := y.p.Claim(id, name); err == nil {
				y.claimed(name, i)
			}
		}
	case 7, 8, 9:
		sp := y.open[name]
		if y.r.IntN(8) == 0 { // somebody else's item, or an old one
			sp.item = y.any()
		}
		text := fmt.Sprint(y.r.IntN(2))
		if i, err := y.p.Answer(sp.item, name, sp.token, Said{Text: text}); err == nil {
			y.confirm(i)
			y.ended(name)
		}
	case 10:
		sp := y.open[name]
		if i, err := y.p.Back(sp.item, name, sp.token); err == nil {
			y.confirm(i)
			if i.State(y.c.at) == StateOpen {
				y.ended(name)
			}
		}
	case 11:
		if y.r.IntN(3) == 0 {
			y.restart()
		} else if id := y.any(); id != "" && y.r.IntN(4) == 0 {
			if i, err := y.p.Withdraw(id); err == nil {
				y.confirm(i)
				for who, sp := range y.open {
					if sp.item == id {
						y.ended(who)
					}
				}
			}
		}
	}
	y.c.wait(time.Duration(y.r.ExpFloat64() * float64(90*time.Second)))
}

func (y *play) any() string {
	if len(y.order) == 0 {
		return ""
	}
	return y.order[y.r.IntN(len(y.order))]
}

// confirm takes over what the queue said of an item. An answer never changes.
func (y *play) confirm(i *Item) {
	before := y.items[i.ID]
	if before == nil {
		before = i
	}
	if a, b := before.Answer, i.Answer; a != nil && (b == nil || a.Text != b.Text || a.Person != b.Person || !a.Time.Equal(b.Time)) {
		y.t.Fatalf("the answer of %s changed: %+v, %+v", i.ID, a, b)
	}
	y.items[i.ID] = i
}

// claimed notes a claim, which must be of an item that nobody else has.
func (y *play) claimed(name string, i *Item) {
	for who, sp := range y.open {
		if who != name && sp.item == i.ID && y.c.at.Before(sp.until) {
			y.t.Fatalf("%s has what %s has", name, who)
		}
	}
	if sp := y.open[name]; sp.item != i.ID || sp.token != i.Claim.Token {
		y.ended(name)
	}
	y.open[name] = span{i.ID, i.Claim.Token, i.Claim.Since, i.Claim.Until}
	y.confirm(i)
}

// ended notes the time for which a person had an item.
func (y *play) ended(name string) {
	sp, ok := y.open[name]
	if !ok {
		return
	}
	if y.c.at.Before(sp.until) {
		sp.until = y.c.at
	}
	y.spans[name] = append(y.spans[name], sp)
	delete(y.open, name)
}

// restart kills the server and starts it again, sometimes with half a line.
func (y *play) restart() {
	torn := [][]byte{nil, []byte("0"), []byte(`12345678 {"op":"put"`), []byte("00000000 {\"op\":\"put\"}\n")}[y.r.IntN(4)]
	y.s = crash(y.t, y.s, torn)
	y.p.Close()
	var err error
	if y.p, err = Open(y.s, Options{Now: y.c.now}); err != nil {
		y.t.Fatal(err)
	}
	if y.r.IntN(3) == 0 {
		if err := y.p.locked(y.p.queue.compact); err != nil {
			y.t.Fatal(err)
		}
	}
	y.check()
}

// check compares all items with what was confirmed.
func (y *play) check() {
	for id, want := range y.items {
		got, err := y.p.Get(id)
		if err != nil {
			y.t.Fatalf("%s is lost: %v", id, err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			y.t.Fatalf("confirmed %s\nis %s", a, b)
		}
	}
	if n := len(y.p.queue.waiting) + len(y.p.queue.done); n != len(y.items) {
		y.t.Fatalf("%d items are there, %d were confirmed", n, len(y.items))
	}
}

// checkHours compares the times in which people had items with their hours.
func (y *play) checkHours() {
	for i := range y.p.team.Load().people {
		o := &y.p.team.Load().people[i]
		day, week := map[string]time.Duration{}, map[int]time.Duration{}
		list := y.spans[o.Name]
		slices.SortFunc(list, func(a, b span) int { return a.since.Compare(b.since) })
		for k, sp := range list {
			if k > 0 && sp.since.Before(list[k-1].until) {
				y.t.Fatalf("%s has two items at once: %+v, %+v", o.Name, list[k-1], sp)
			}
			end, open := o.schedule.Open(sp.since)
			if !open || sp.until.After(end) {
				y.t.Fatalf("%s works outside of office hours: %+v", o.Name, sp)
			}
			_, w := sp.since.ISOWeek()
			day[o.schedule.Day(sp.since)] += sp.until.Sub(sp.since)
			week[w] += sp.until.Sub(sp.since)
		}
		for d, sum := range day {
			if sum > o.PerDay || sum != y.p.queue.used[o.Name][d] && y.p.held(o.Name, y.c.at) == nil {
				y.t.Fatalf("%s worked %v on %s; the queue says %v", o.Name, sum, d, y.p.queue.used[o.Name][d])
			}
		}
		for w, sum := range week {
			if sum > o.PerWeek {
				y.t.Fatalf("%s worked %v in week %d", o.Name, sum, w)
			}
		}
	}
}

// TestInterleavings: over 200 random runs with claims, leases that end, retries and kills, no item is lost or answered twice, nobody
// has an item that somebody else has, and no hours are exceeded. In the end everything is answered.
func TestInterleavings(t *testing.T) {
	runs := 200
	if testing.Short() {
		runs = 40
	}
	answered, restarts := 0, 0
	for seed := range runs {
		c := newClock()
		y := &play{t: t, r: rand.New(rand.NewPCG(uint64(seed), 1)), c: c, s: settings(t.TempDir()), items: map[string]*Item{}, spans: map[string][]span{}, open: map[string]span{}}
		y.p = open(t, y.s, c)
		first := y.s.Folder
		for range 120 {
			y.step()
		}
		y.check()
		if y.s.Folder != first {
			restarts++
		}
		for rest := 0; len(y.p.queue.waiting) > 0; rest++ {
			if rest > 20000 {
				t.Fatalf("seed %d: %d items are never answered", seed, len(y.p.queue.waiting))
			}
			for _, name := range []string{"ana", "ben", "eva"} {
				if i, found, err := y.p.ClaimNext(name); found && err == nil {
					y.claimed(name, i)
				}
			}
			c.wait(45 * time.Second)
			for _, name := range []string{"ana", "ben", "eva"} {
				if sp, ok := y.open[name]; ok {
					if i, err := y.p.Answer(sp.item, name, sp.token, Said{Text: "end"}); err == nil {
						y.confirm(i)
					}
					y.ended(name)
				}
			}
			if len(y.p.queue.waiting) > 0 && y.p.Status().People[0].Left < 60 && y.p.Status().People[1].Left < 60 {
				c.wait(30 * time.Minute)
			}
		}
		y.check()
		y.checkHours()
		for _, i := range y.items {
			if i.Answer != nil {
				answered++
			}
		}
		y.p.Close()
	}
	t.Logf("%d runs, %d with kills, %d answers", runs, restarts, answered)
	if restarts < runs/2 || answered < 10*runs {
		t.Error("too little happened")
	}
}

// TestJournal: what is no journal, and a line in the middle that was changed, are errors with the line.
func TestJournal(t *testing.T) {
	c := newClock()
	s := settings(t.TempDir())
	p := open(t, s, c)
	for range 3 {
		put(t, p, New{Expert: "reviewer"})
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(string(s.Folder), "journal.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	var last uint32
	if _, err := fmt.Sscanf(lines[4], "%08x ", &last); err != nil {
		t.Fatal(err)
	}
	after := func(record string) string {
		return fmt.Sprintf("%s%08x %s\n", text, crc32.Update(last, crc32.MakeTable(crc32.Castagnoli), []byte(record)), record)
	}
	for want, broken := range map[string]string{
		"line 3 cannot be read":  strings.Replace(string(text), "reviewer", "reviewed", 1),
		"is not a journal":       "x" + string(text),
		"line 2 cannot be read":  lines[0] + lines[1][:9],
		"unexpected end of JSON": after("{"),
		"item without an id":     after(`{"item":{}}`),
		"line 6 cannot be read":  string(text) + lines[2] + lines[3], // doubled
		"line 4 cannot be read":  strings.Join(lines[:3], "") + lines[4] + lines[4],
	} {
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := Open(s, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
			if p != nil {
				p.Close()
			}
		}
	}
}

// TestTwoServers: a second server does not open the queue of a running one.
func TestTwoServers(t *testing.T) {
	s := settings(t.TempDir())
	open(t, s, newClock())
	if p, err := Open(s, Options{}); err == nil {
		p.Close()
		t.Error("two servers have one queue")
	}
}
