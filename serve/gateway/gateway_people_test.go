package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"pipe/internal/config"
	"pipe/models/policy"
	"pipe/serve/decision"
	"pipe/serve/people"
	"pipe/serve/people/hours"
)

// withPeople is a world in which the expert small is people, whom the policy any expects to be best.
func withPeople(t *testing.T, on people.OnChosen, change func(*people.Settings)) (*world, *people.People) {
	t.Helper()
	return peopleIn(t, on, change, func(folder string) {
		writeAnyPrice(t, folder, "any", func(p *policy.Policy) { expect(p, 0.1, 0.5, 0.3, 0.4) })
	}, nil)
}

// peopleIn is withPeople for a policy any that write writes.
func peopleIn(t *testing.T, on people.OnChosen, change func(*people.Settings), write func(folder string), more func(*Settings), deciding ...func(*decision.Settings)) (*world, *people.People) {
	t.Helper()
	s := people.DefaultSettings()
	s.Folder, s.OnChosen = config.Path(t.TempDir()), on
	s.Experts = map[string]people.Expert{"small": {Seconds: 60}}
	s.List = []people.Person{{Name: "ana", Answers: []string{"small/none"}, Tags: []string{"de"}}}
	if change != nil {
		change(&s)
	}
	p, err := people.Open(s, people.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	w := newWorldOf(t, nil, func(s *Settings) {
		delete(s.Experts, "small")
		s.People = p
		if more != nil {
			more(s)
		}
	}, func(folder string, s *decision.Settings) {
		write(folder)
		for _, change := range deciding {
			change(s)
		}
	})
	w.decider.UsePeople(p.Ask)
	return w, p
}

// A cascade does not wait for people, so it decides without them: nothing was tried with them, and their propensity is 0. A request that
// one pair answers can get a ticket, if somebody is there, and so can one without a text, by the setting.
func TestPeopleInCascade(t *testing.T) {
	for name, c := range map[string]struct {
		body, tag string
		status    int
		action    int
	}{
		"in stages":        {askPeople, "de", 200, largeNone},
		"one pair":         {askTools, "de", 202, smallNone},
		"one pair, closed": {askTools, "fr", 200, largeNone},
		"without text":     {`{"model":"pipe/any","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `"}}]}]}`, "de", 202, smallNone},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := peopleIn(t, people.Ticket, nil, func(folder string) { writeCascade(t, folder) }, func(s *Settings) { s.WithoutText = "small/none" })
			a := w.post(t, c.body, "X-Pipe-Tags", c.tag)
			if _, found, err := p.ClaimNext("ana"); a.status != c.status || found != (c.status == 202) || err != nil {
				t.Error(a, found, err)
			}
			rec := w.records(t)[0]
			if len(rec.Attempts) != 1 || rec.Attempts[0].Error != "" || rec.Action != c.action || rec.Executed != c.action || rec.Available[smallNone] != (c.status == 202) || rec.Propensity[c.action] != 1 {
				t.Errorf("%+v", rec)
			}
			if name == "in stages" && (a.header.Get(headerStages) != "large/none" || rec.PathPropensity() != 1) {
				t.Errorf("%v %+v", a.header, rec)
			}
		})
	}
}

// A policy that decides once has its people where its canary, a cascade, has none.
func TestPeopleInCascadeCanary(t *testing.T) {
	for _, share := range []float64{0, 1} {
		w, _ := peopleIn(t, people.Ticket, nil, func(folder string) {
			writeAnyPrice(t, folder, "priced", func(p *policy.Policy) { expect(p, 0.1, 0.5, 0.3, 0.4) })
			writeCascade(t, folder)
		}, nil, func(s *decision.Settings) { s.Canary = []decision.Canary{{Policy: "any", Of: "priced", Share: share}} })
		a := w.post(t, strings.Replace(askPeople, "pipe/any", "pipe/priced", 1), "X-Pipe-Tags", "de")
		if rec := w.records(t)[0]; a.status != 202-int(2*share) || rec.Canary != (share == 1) || rec.Available[smallNone] != (share == 0) || len(rec.Attempts) != 1 {
			t.Errorf("%d %s %+v", a.status, a.body, rec)
		}
	}
}

const (
	askPeople = `{"model":"pipe/any","messages":[{"role":"user","content":"Is it so?"}]}`
	askTools  = `{"model":"pipe/any","messages":[{"role":"user","content":"Is it so?"}]` + withTools + `}`
)

// TestPeopleTicket: a caller gets a ticket, and later the answer of a person in its own protocol.
func TestPeopleTicket(t *testing.T) {
	w, p := withPeople(t, people.Ticket, nil)
	protocols := map[string]string{
		"/v1/chat/completions": `{"model":"pipe/any","messages":[{"role":"user","content":"Is it so?"}],"stream":true}`,
		"/v1/messages":         `{"model":"pipe/any","max_tokens":50,"messages":[{"role":"user","content":"Is it so?"}]}`,
		"/v1/responses":        `{"model":"pipe/any","input":"Is it so?"}`,
	}
	for path, body := range protocols {
		a := w.postTo(t, path, body, "Content-Type", "application/json", "X-Pipe-Tags", "de")
		at := a.header.Get("Location")
		if a.status != 202 || !strings.HasPrefix(at, "/v1/people/tickets/") || a.header.Get("X-Pipe-Expert") != "small" || a.header.Get("X-Pipe-Decision") == "" || !strings.Contains(a.body, `"status":"pending"`) {
			t.Fatal(path, a)
		}
		if again := w.get(t, at); again.status != 202 || again.header.Get("Location") != at || again.header.Get("Retry-After") == "" {
			t.Error(path, again)
		}
		i, found, err := p.ClaimNext("ana")
		if err != nil || !found || !strings.Contains(string(i.Question), "Is it so?") {
			t.Fatal(path, string(i.Question), err)
		}
		if _, err := p.Answer(i.ID, "ana", i.Claim.Token, people.Said{Text: "So it is."}); err != nil {
			t.Fatal(err)
		}
		done := w.get(t, at)
		if done.status != 200 || !strings.Contains(done.body, "So it is.") || done.header.Get("X-Pipe-Decision") != a.header.Get("X-Pipe-Decision") {
			t.Error(path, done)
		}
		var form struct {
			Object, Type, Model string
			Choices             []struct{ Message struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(done.body), &form); err != nil || form.Object != "chat.completion" && form.Type != "message" && form.Object != "response" || form.Model != "small" {
			t.Error(path, done.body, err)
		}
		if path == "/v1/chat/completions" && form.Choices[0].Message.Content != "So it is." {
			t.Error(done.body)
		}
	}
	if a := w.get(t, "/v1/people/tickets/none"); a.status != 404 {
		t.Error(a)
	}
	if i, _, err := p.Put(people.New{Expert: "small", Advice: "none", Question: json.RawMessage("1")}); err != nil || w.get(t, "/v1/people/tickets/"+i.ID).status != 404 {
		t.Error("an item is no ticket:", err)
	}
	for _, r := range w.records(t) {
		if r.Action != 0 || r.Executed != 0 || r.Error != "" || len(r.Attempts) != 1 || r.Attempts[0].Status != 202 || r.FeeKnown {
			t.Errorf("%+v", r)
		}
	}
}

// TestPeopleNext: without tickets, the next best pair answers, and the log says so. The queue stays empty.
func TestPeopleNext(t *testing.T) {
	w, p := withPeople(t, people.Next, nil)
	a := w.post(t, askPeople)
	if a.status != 200 || a.header.Get("X-Pipe-Expert")+a.header.Get("X-Pipe-Advice") != "largenone" || a.header.Get("X-Pipe-Fallbacks") != "1" {
		t.Error(a)
	}
	if items, err := p.Waiting(""); len(items) != 0 || err != nil {
		t.Error(items, err)
	}
	r := w.records(t)[0]
	if r.Action != 0 || r.Executed != 2 || len(r.Attempts) != 2 || !strings.Contains(r.Attempts[0].Error, "people do not answer") {
		t.Errorf("%+v", r)
	}
}

// TestPeopleArePriced: what waits is a fee of the decision. Tags that nobody has, and missing hours, leave people out with a propensity
// of 0.
func TestPeopleArePriced(t *testing.T) {
	w, p := withPeople(t, people.Ticket, nil)
	for range 13 { // of 30 that cost a loss of 1: more than the 0.2 between the pairs
		if _, _, err := p.Put(people.New{Expert: "small", Advice: "none", Question: json.RawMessage("1")}); err != nil {
			t.Fatal(err)
		}
	}
	if a := w.post(t, askPeople); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" {
		t.Error("the price does not count:", a)
	}
	if a := w.post(t, askPeople, "X-Pipe-Tags", "fr"); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" {
		t.Error(a)
	}
	if a := w.post(t, `{"model":"pipe","messages":[{"role":"user","content":"x"}]}`, "X-Pipe-Tags", "fr"); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" {
		t.Error("fixed prices:", a)
	}
	all := w.records(t)
	if r := all[0]; len(r.PairFees) != 4 || r.PairFees[0] < 0.43 || r.PairFees[0] > 0.44 || r.PairFees[2] != 0 || !r.Available[0] || r.Available[1] {
		t.Errorf("%+v", r)
	}
	for _, r := range all[1:] {
		if r.Available[0] || r.Available[1] || !r.Available[2] {
			t.Errorf("%+v", r)
		}
	}
}

// TestPeopleWithoutHours: nobody is asked when nobody has hours, and a full queue is a failure after which the next pair is tried.
func TestPeopleWithoutHours(t *testing.T) {
	w, _ := withPeople(t, people.Ticket, func(s *people.Settings) {
		s.List[0].Settings = hours.Settings{PerDay: 1}
	})
	if a := w.post(t, askPeople); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" || a.header.Get("X-Pipe-Fallbacks") != "" {
		t.Error(a)
	}
	w, p := withPeople(t, people.Ticket, func(s *people.Settings) { s.Queue = 1 })
	if _, _, err := p.Put(people.New{Expert: "small", Advice: "none", Question: json.RawMessage("1")}); err != nil {
		t.Fatal(err)
	}
	if a := w.post(t, askPeople); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" || a.header.Get("X-Pipe-Fallbacks") != "1" {
		t.Error(a)
	}
}

// get asks for a path.
func (w *world) get(t testing.TB, path string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := w.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}
