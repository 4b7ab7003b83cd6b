package people

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipe/costs"
	"pipe/internal/config"
	"pipe/models/policy"
	"pipe/serve/people/hours"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that tests set. It begins on a Monday.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time       { return c.at }
func (c *clock) wait(d time.Duration) { c.at = c.at.Add(d) }

// settings are two experts and three people.
func settings(folder string) Settings {
	s := DefaultSettings()
	s.Folder = config.Path(folder)
	s.Experts = map[string]Expert{
		"reviewer": {Seconds: 60, Lease: 5 * time.Minute, Within: 24 * time.Hour, Full: time.Hour},
		"chief":    {Seconds: 120, Lease: 5 * time.Minute, Within: 24 * time.Hour, Full: time.Hour},
	}
	office := hours.Settings{Office: []string{"mon-fri 09:00-12:00", "mon-fri 13:00-17:00"}, PerDay: time.Hour, PerWeek: 4 * time.Hour}
	s.List = []Person{
		{Name: "ana", Answers: []string{"reviewer", "chief"}, Tags: []string{"de", "fraud"}, Settings: office},
		{Name: "ben", Answers: []string{"reviewer"}, Tags: []string{"de"}, Settings: office},
		{Name: "eva", Answers: []string{"reviewer/notes"}, Settings: office},
	}
	return s
}

func open(t testing.TB, s Settings, c *clock) *People {
	t.Helper()
	p, err := Open(s, Options{Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// put puts a question.
func put(t testing.TB, p *People, n New) *Item {
	t.Helper()
	if n.Question == nil {
		n.Question = json.RawMessage(`{"text":"Is it so?"}`)
	}
	i, _, err := p.Put(n)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// code is the word of a refusal, "" for no error.
func code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestLife: an item is put, claimed, given back, claimed and answered; every step once, and retries change nothing.
func TestLife(t *testing.T) {
	c := newClock()
	p := open(t, settings(t.TempDir()), c)
	i := put(t, p, New{Expert: "reviewer", Key: "1", From: "web"})
	again, created, err := p.Put(New{Expert: "reviewer", Key: "1", From: "web", Question: i.Question})
	if err != nil || created || again.ID != i.ID {
		t.Fatal(again, created, err)
	}
	if _, _, err := p.Put(New{Expert: "chief", Key: "1", From: "web", Question: i.Question}); code(err) != "key" {
		t.Error(err)
	}
	if other := put(t, p, New{Expert: "reviewer", Key: "1", From: "app"}); other.ID == i.ID {
		t.Error("the keys of two callers are the same")
	}
	mine, err := p.Claim(i.ID, "ana")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Claim(i.ID, "ben"); code(err) != "claimed" {
		t.Error(err)
	}
	if _, _, err := p.ClaimNext("eva"); err != nil {
		t.Error("eva answers for notes only, so nothing waits:", err)
	}
	c.wait(time.Minute)
	more, err := p.Claim(i.ID, "ana")
	if err != nil || more.Claim.Token != mine.Claim.Token || !more.Claim.Until.Equal(mine.Claim.Until.Add(time.Minute)) {
		t.Errorf("more time: %+v, %v", more.Claim, err)
	}
	for range 2 {
		if back, err := p.Back(i.ID, "ana", mine.Claim.Token); err != nil || back.State(c.at) != StateOpen {
			t.Error(back, err)
		}
	}
	if _, err := p.Answer(i.ID, "ana", mine.Claim.Token, Said{Text: "yes"}); code(err) != "lease" {
		t.Error("an item that was given back is answered:", err)
	}
	its, err := p.Claim(i.ID, "ben")
	if err != nil {
		t.Fatal(err)
	}
	c.wait(30 * time.Second)
	if _, err := p.Answer(i.ID, "ana", mine.Claim.Token, Said{Text: "yes"}); code(err) != "claimed" {
		t.Error("an old claim answers:", err)
	}
	for range 2 {
		done, err := p.Answer(i.ID, "ben", its.Claim.Token, Said{Text: "yes"})
		if err != nil || done.Answer.Text != "yes" || done.Answer.Seconds != 30 || done.State(c.at) != StateAnswered {
			t.Error(done, err)
		}
	}
	for _, said := range []Said{{Text: "no"}, {Text: "yes", Confidence: new(float64)}} {
		if _, err := p.Answer(i.ID, "ben", its.Claim.Token, said); code(err) != "done" {
			t.Error("a second answer:", err)
		}
	}
	if _, err := p.Claim(i.ID, "ana"); code(err) != "done" {
		t.Error(err)
	}
	if _, err := p.Withdraw(i.ID); code(err) != "done" {
		t.Error(err)
	}
}

// TestRefusals: what cannot be put, claimed or answered says why.
func TestRefusals(t *testing.T) {
	c := newClock()
	s := settings(t.TempDir())
	s.Queue, s.ItemBytes = 3, 1024
	p := open(t, s, c)
	q := json.RawMessage(`1`)
	for want, n := range map[string]New{
		"invalid_request": {Expert: "robot", Question: q},
		"skills":          {Expert: "chief", Tags: []string{"fr"}, Question: q},
		"too_large":       {Expert: "chief", Question: json.RawMessage(`"` + strings.Repeat("x", 1030) + `"`)},
	} {
		if _, _, err := p.Put(n); code(err) != want {
			t.Errorf("%+v: %v", n, err)
		}
	}
	for _, n := range []New{{Expert: "chief"}, {Expert: "chief", Question: json.RawMessage(`{`)}, {Expert: "chief", Question: q, Choices: []string{""}}, {Expert: "chief", Question: q, Tags: []string{"a b"}}} {
		if _, _, err := p.Put(n); code(err) != "invalid_request" {
			t.Errorf("%+v: %v", n, err)
		}
	}
	chosen := put(t, p, New{Expert: "reviewer", Choices: []string{"yes", "no"}})
	forAna := put(t, p, New{Expert: "reviewer", Tags: []string{"de", "fraud"}})
	put(t, p, New{Expert: "reviewer", Advice: "notes"})
	if _, _, err := p.Put(New{Expert: "reviewer", Question: q}); code(err) != "full" {
		t.Error(err)
	}
	if _, err := p.Claim(forAna.ID, "ben"); code(err) != "skills" {
		t.Error(err)
	}
	for _, name := range []string{"joe", ""} {
		if _, err := p.Claim(forAna.ID, name); code(err) != "nobody" {
			t.Error(err)
		}
	}
	if _, err := p.Claim("nothing", "ben"); code(err) != "not_found" {
		t.Error(err)
	}
	i, err := p.Claim(chosen.ID, "ben")
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []Said{{Text: " "}, {Text: "maybe"}} {
		if _, err := p.Answer(i.ID, "ben", i.Claim.Token, said); code(err) != "invalid_request" {
			t.Error(err)
		}
	}
	c.wait(time.Minute)
	if _, found, err := p.ClaimNext("ben"); !found || err != nil {
		t.Error("what ben has comes first:", err)
	}
	c.wait(6 * time.Minute)
	if _, err := p.Answer(i.ID, "ben", i.Claim.Token, Said{Text: "yes"}); code(err) != "lease" {
		t.Error("the claim has ended:", err)
	}
}

func debtOf(p *People) time.Duration {
	p.advance()
	return p.queue.debt["reviewer"]
}

// locked does something that needs the lock.
func (p *People) locked(do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return do()
}

// TestBusy: work falls due by the clock, however often something changes.
func TestBusy(t *testing.T) {
	left := map[time.Duration]time.Duration{}
	for _, pause := range []time.Duration{100 * time.Millisecond, 10 * time.Second} {
		c := newClock()
		p := open(t, settings(t.TempDir()), c)
		for range 20 {
			put(t, p, New{Expert: "reviewer"})
		}
		first := put(t, p, New{Expert: "reviewer"})
		for start := c.at; c.at.Sub(start) < 30*time.Second; c.wait(pause) {
			if _, err := p.Withdraw(first.ID); err != nil {
				t.Fatal(err)
			}
			first = put(t, p, New{Expert: "reviewer"})
		}
		left[pause] = debtOf(p)
	}
	if a, b := left[100*time.Millisecond], left[10*time.Second]; b >= 21*time.Minute || (a-b).Abs() > 3*time.Second {
		t.Errorf("what is left: %v", left)
	}
}

// TestRestart: after a restart a retry is still one, however its question is written, and the price goes on from where it was.
func TestRestart(t *testing.T) {
	c := newClock()
	s := settings(t.TempDir())
	p := open(t, s, c)
	n := New{Expert: "reviewer", Key: "claim-17", Question: json.RawMessage(`{"text": "Is it <b>so</b>?"}`)}
	first := put(t, p, n)
	for range 29 {
		put(t, p, New{Expert: "reviewer"})
	}
	c.wait(time.Hour)
	if _, err := p.Claim(first.ID, "ana"); err != nil {
		t.Fatal(err)
	}
	before := debtOf(p)
	p.Close()
	p = open(t, s, c)
	if again, created, err := p.Put(n); err != nil || created || again.ID != first.ID {
		t.Errorf("a retry after a restart: created %v, %v", created, err)
	}
	if after := debtOf(p); before < time.Minute || before > 25*time.Minute || (after-before).Abs() > time.Second {
		t.Errorf("%v had not fallen due, after the restart %v", before, after)
	}
	if _, _, err := p.Put(New{Expert: "reviewer", Key: "\xff", Question: n.Question}); code(err) != "invalid_request" {
		t.Error("a key that the journal cannot keep:", err)
	}
}

// TestDeep: what the journal could not be read with is refused, not confirmed and lost.
func TestDeep(t *testing.T) {
	c := newClock()
	s := settings(t.TempDir())
	p := open(t, s, c)
	put(t, p, New{Expert: "reviewer"})
	kept := map[string]bool{}
	for n := 9980; n <= 10001; n++ {
		deep := json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
		for _, item := range []New{{Expert: "reviewer", Question: deep}, {Expert: "reviewer", Question: json.RawMessage("1"), Note: deep}} {
			i, _, err := p.Put(item)
			if err == nil {
				kept[i.ID] = true
			} else if code(err) != "invalid_request" {
				t.Fatal(err)
			}
		}
	}
	p.Close()
	p = open(t, s, c)
	for id := range kept {
		if _, err := p.Get(id); err != nil {
			t.Error("a confirmed question is lost:", err)
		}
	}
	if len(kept) == 0 || len(kept) == 44 {
		t.Errorf("%d of 44 were taken", len(kept))
	}
}

// TestTook: an answer took all the time for which the person had the question, also under claims that ran out. Clocks that are set
// back make no time negative.
func TestTook(t *testing.T) {
	c := newClock()
	p := open(t, settings(t.TempDir()), c)
	first, second := put(t, p, New{Expert: "reviewer"}), put(t, p, New{Expert: "reviewer"})
	claim := func(id string) *Item {
		i, err := p.Claim(id, "ana")
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	claim(first.ID)
	c.wait(7 * time.Minute) // the lease ended after 5
	i := claim(first.ID)
	c.wait(time.Second)
	i, err := p.Answer(i.ID, "ana", i.Claim.Token, Said{Text: "yes"})
	if err != nil || i.Answer.Seconds != 301 {
		t.Errorf("it took %v, %v", i.Answer.Seconds, err)
	}
	learned, used := p.expected("reviewer"), p.queue.used["ana"]["2026-03-02"]
	i = claim(second.ID)
	c.wait(-time.Minute)
	i, err = p.Answer(i.ID, "ana", i.Claim.Token, Said{Text: "yes"})
	if err != nil || i.Answer.Seconds != 0 || p.queue.used["ana"]["2026-03-02"] != used || p.expected("reviewer") >= learned || p.expected("reviewer") <= 0 {
		t.Errorf("took %v, expected %v, used %v, before %v; %v", i.Answer.Seconds, p.expected("reviewer"), p.queue.used["ana"]["2026-03-02"], used, err)
	}
}

// TestHours: a claim ends with the hours of its person, and there is none without enough of them.
func TestHours(t *testing.T) {
	c := newClock()
	p := open(t, settings(t.TempDir()), c)
	i := put(t, p, New{Expert: "reviewer"})
	c.at = time.Date(2026, 3, 2, 11, 58, 0, 0, time.UTC)
	if i, err := p.Claim(i.ID, "ana"); err != nil || i.Claim.Until.Format("15:04") != "12:00" {
		t.Error(i, err)
	}
	c.at = c.at.Add(2 * time.Minute)
	if _, err := p.Claim(i.ID, "ana"); code(err) != "closed" || !strings.Contains(err.Error(), "13:00") {
		t.Error(err)
	}
	c.at = time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	for range 11 { // a lease of five minutes each, after the two of the morning
		if _, err := p.Claim(i.ID, "ana"); err != nil {
			t.Fatal(err)
		}
		c.wait(5 * time.Minute)
	}
	if i, err := p.Claim(i.ID, "ana"); err != nil || i.Claim.Until.Sub(c.at) != 3*time.Minute {
		t.Error(i, err)
	}
	c.wait(3 * time.Minute)
	if _, err := p.Claim(i.ID, "ana"); code(err) != "hours" {
		t.Error(err)
	}
	if _, err := p.Claim(i.ID, "ben"); err != nil {
		t.Error("ben has hours:", err)
	}
}

// actions are those of a policy with a model and people.
func actions() *costs.Actions {
	return &costs.Actions{Experts: []costs.Expert{{Name: "model"}, {Name: "reviewer"}, {Name: "chief"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "notes"}}}
}

// TestPrices: what waits is a price, which falls as work falls due; pairs without people or hours are left out.
func TestPrices(t *testing.T) {
	c := newClock()
	p := open(t, settings(t.TempDir()), c)
	a := actions()
	fees, without := p.Ask(nil)(a)
	if !slices.Equal(fees, make([]float64, 6)) || len(without) != 0 {
		t.Error(fees, without)
	}
	if _, without := p.Ask([]string{"fraud"})(a); len(without) != 0 {
		t.Error("ana knows fraud and answers for all pairs:", without)
	}
	if _, without := p.Ask([]string{"fr"})(a); len(without) != 4 {
		t.Error("nobody knows fr:", without)
	}
	if fees, without := p.Ask(nil)(&costs.Actions{Experts: a.Experts[:1], Advice: a.Advice}); fees != nil || without != nil {
		t.Error("no pair is of people:", fees, without)
	}
	for range 30 {
		put(t, p, New{Expert: "reviewer"})
	}
	fees, without = p.Ask(nil)(a)
	if fees[0] != 0 || fees[2] != 0.5 || fees[4] != 0 || len(without) != 0 { // 30 min wait of a full hour
		t.Error(fees, without)
	}
	for range 69 {
		put(t, p, New{Expert: "reviewer"})
	}
	if _, without = p.Ask(nil)(a); len(without) != 0 {
		t.Error(without)
	}
	for range 21 { // ana and ben have two hours until tomorrow
		put(t, p, New{Expert: "reviewer"})
	}
	if _, without = p.Ask(nil)(a); !slices.Contains(without, policy.Pair("reviewer/none")) || !slices.Contains(without, policy.Pair("chief/none")) {
		t.Error("nobody has hours left:", without)
	}
	if slices.Contains(without, policy.Pair("reviewer/notes")) {
		t.Error("eva has hours for notes:", without)
	}
}

// TestWorkFallsDue: the price falls by the people's hours even before they answer, but not below what waits.
func TestWorkFallsDue(t *testing.T) {
	c := newClock()
	p := open(t, settings(t.TempDir()), c)
	var items []*Item
	for range 30 {
		items = append(items, put(t, p, New{Expert: "reviewer"}))
	}
	price := func() float64 { fees, _ := p.Ask(nil)(actions()); return fees[2] }
	before := price()
	for _, i := range items[:20] {
		if _, err := p.Withdraw(i.ID); err != nil {
			t.Fatal(err)
		}
	}
	if now := price(); before != 0.5 || now < 0.16 || now > 0.17 {
		t.Error(before, now)
	}
	if i, err := p.Claim(items[20].ID, "ana"); err != nil {
		t.Fatal(err)
	} else if c.wait(2 * time.Minute); true {
		if _, err := p.Answer(i.ID, "ana", i.Claim.Token, Said{Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	s := p.Status().Experts[1]
	if s.Name != "reviewer" || s.Answered != 1 || s.Open != 9 || s.Seconds <= 60 || s.Seconds > 71 { // (5*60 + 120) / 6 = 70
		t.Errorf("%+v", s)
	}
}
