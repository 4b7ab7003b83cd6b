package people

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/models/policy"
	"pipe/serve/access"
)

// TestReload: hours, skills and people change while the server runs. A claim keeps its end. What cannot change is refused by name, and
// then nothing changes.
func TestReload(t *testing.T) {
	c, s := newClock(), settings(t.TempDir())
	var log bytes.Buffer
	p, err := Open(s, Options{Now: c.now, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	mine := put(t, p, New{Expert: "reviewer"})
	put(t, p, New{Expert: "chief"})
	claim, err := p.Claim(mine.ID, "ben")
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(s *Settings){
		"people: folder: is ": func(s *Settings) { s.Folder = config.Path(t.TempDir()) },
		"people: experts: ":   func(s *Settings) { s.Experts, s.List = nil, nil },
		"people: list.1.name": func(s *Settings) { s.List = slices.Clone(s.List); s.List[1].Name = "ana" },
		"people: queue: is 0": func(s *Settings) { s.Queue = 0 },
	} {
		next := settings(string(s.Folder))
		next.List[0].Tags, next.OnChosen = nil, Ticket
		change(&next)
		if err := p.Reload(next); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, without := p.Ask([]string{"fraud"})(actions()); len(without) != 0 || p.OnChosen() != Next {
		t.Error("a refused reload changed something:", without)
	}
	next := settings(string(s.Folder))
	next.OnChosen, next.Queue = Ticket, 2
	next.List = []Person{
		{Name: "ben", Answers: []string{"reviewer"}, Settings: next.List[1].Settings},
		{Name: "zoe", Answers: []string{"reviewer"}, Tags: []string{"fr"}, Settings: next.List[1].Settings},
		{Name: "max", Answers: []string{"chief/notes"}},
	}
	next.List[0].Office = []string{"mon-fri 13:00-14:00"}
	if err := p.Reload(next); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "nobody of the people answers for some of the items that wait") || !strings.Contains(log.String(), "items=1") {
		t.Error("nobody answers for the chief's item:", log.String())
	}
	if _, err := p.Claim(mine.ID, "ana"); code(err) != "nobody" || p.OnChosen() != Ticket {
		t.Error("ana is gone:", err)
	}
	if _, _, err := p.Put(New{Expert: "reviewer", Question: mine.Question}); code(err) != "full" {
		t.Error("the queue is shorter now:", err)
	}
	_, without := p.Ask([]string{"fr"})(actions())
	if !slices.Contains(without, policy.Pair("chief/none")) || slices.Contains(without, policy.Pair("reviewer/none")) {
		t.Error("zoe knows fr:", without)
	}
	c.wait(time.Minute)
	if i, err := p.Answer(mine.ID, "ben", claim.Claim.Token, Said{Text: "yes"}); err != nil || i.Answer.Seconds != 60 {
		t.Error("ben has the item until the claim ends:", err)
	}
	put(t, p, New{Expert: "reviewer"})
	if _, _, err := p.ClaimNext("ben"); code(err) != "closed" || !strings.Contains(err.Error(), "13:00") {
		t.Error("ben works from one to two now:", err)
	}
}

// TestSlowDisk: while the disk works, decisions have prices and others look at items. Nobody sees a change before it is on disk, and it
// is not confirmed before.
func TestSlowDisk(t *testing.T) {
	c := newClock()
	p := open(t, settings(t.TempDir()), c)
	first := put(t, p, New{Expert: "reviewer"})
	begun, ready := make(chan bool), make(chan error)
	p.queue.sync = func(f *os.File) error {
		begun <- true
		return errors.Join(<-ready, f.Sync())
	}
	done := make(chan error)
	change := func(do func() error) {
		go func() { done <- do() }()
		<-begun
	}
	change(func() error {
		_, _, err := p.Put(New{Expert: "reviewer", Key: "1", Question: first.Question})
		return err
	})
	if fees, _ := p.Ask(nil)(actions()); fees[2] == 0 {
		t.Error("the first item has no price")
	}
	if s := p.Status().Experts[1]; s.Open != 1 || s.Waiting != 60 {
		t.Errorf("an item that is not on disk waits: %+v", s)
	}
	all, err := p.Waiting("ana")
	if i, bad := p.Get(first.ID); len(all) != 1 || err != nil || i != first || bad != nil {
		t.Error(all, err, i, bad)
	}
	select {
	case err := <-done:
		t.Error("confirmed before it is on disk:", err)
	case ready <- nil:
	}
	if err := <-done; err != nil || p.Status().Experts[1].Open != 2 {
		t.Error(err, p.Status().Experts[1])
	}

	change(func() error { _, err := p.Claim(first.ID, "ana"); return err })
	ready <- errors.New("no space")
	if err := <-done; code(err) != "disk" {
		t.Error(err)
	}
	if i, err := p.Get(first.ID); err != nil || i.Claim != nil {
		t.Error("a change that failed is seen:", i, err)
	}
	if _, err := p.Withdraw(first.ID); code(err) != "disk" {
		t.Error("something changes after a failure of the disk:", err)
	}
	again := open(t, crash(t, p.team.Load().Settings, nil), c)
	if i, err := again.Get(first.ID); err != nil || len(again.queue.waiting) != 2 {
		t.Error(i, err)
	}
}

// TestSkillTaken: who lost a skill by a reload keeps a claim to its end, without more time, and sees its item.
func TestSkillTaken(t *testing.T) {
	c, s := newClock(), settings(t.TempDir())
	p := open(t, s, c)
	i := put(t, p, New{Expert: "reviewer", Question: []byte("null")})
	claim, err := p.Claim(i.ID, "ben")
	if err != nil {
		t.Fatal(err)
	}
	next := settings(string(s.Folder))
	next.List[1].Answers = []string{"chief"}
	if err := p.Reload(next); err != nil {
		t.Fatal(err)
	}
	c.wait(time.Minute)
	again, found, err := p.ClaimNext("ben")
	if err != nil || !found || again.ID != i.ID || again.Claim.Token != claim.Claim.Token || !again.Claim.Until.Equal(claim.Claim.Until) {
		t.Fatal(again, found, err)
	}
	if w := (who{Caller: &access.Caller{Name: "ben"}, person: &p.team.Load().people[1]}); !w.sees(again) {
		t.Error("ben does not see the item that ben has")
	}
	if again := open(t, crash(t, s, nil), c); len(again.queue.waiting) != 1 {
		t.Error("a question that is null is not read again")
	}
	c.wait(time.Hour)
	if _, err := p.Claim(i.ID, "ben"); code(err) != "skills" {
		t.Error(err)
	}
}

// TestJournalOfBefore: a journal of another version is refused by what it is, and a last line that was not whole is told of.
func TestJournalOfBefore(t *testing.T) {
	c, s := newClock(), settings(t.TempDir())
	put(t, open(t, s, c), New{Expert: "reviewer"})
	var log bytes.Buffer
	p, err := Open(crash(t, s, []byte("0123abcd {")), Options{Now: c.now, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil || !strings.Contains(log.String(), "was not whole") || !strings.Contains(log.String(), "bytes=10") || len(p.queue.waiting) != 1 {
		t.Error(err, log.String())
	}
	p.Close()
	before := crash(t, s, nil)
	path := filepath.Join(string(before.Folder), fileName)
	if err := os.WriteFile(path, []byte("pipe people 1\n0123abcd {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(before, Options{}); err == nil || !strings.Contains(err.Error(), `written by another version of pipe serve (its first line is "pipe people 1", not "pipe people 2")`) {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "pipe people 1\n") {
		t.Error("the journal was changed")
	}
}
