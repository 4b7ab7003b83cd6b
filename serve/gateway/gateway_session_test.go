package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
	"pipe/serve/gateway/expert"
	"pipe/serve/policies"
)

// money is what two experts cost and how well they answer. The losses are those of small/none, small/search, large/none and
// large/search on the texts "easy" and "hard", in dollars.
type money struct {
	easy, hard []float64
	fees       [2]float64 // of prompts of usual length
	in         [2]float64 // of a million tokens; cached ones cost a tenth
}

var (
	// steep: the dear expert is far better on hard texts.
	steep = money{[]float64{0.002, 0.05, 0.001, 0.05}, []float64{0.060, 0.11, 0.005, 0.06}, [2]float64{0.0045, 0.045}, [2]float64{0.6, 6}}
	// level: each is a little better on its texts, at prices that are almost the same.
	level = money{[]float64{0.002, 0.05, 0.006, 0.05}, []float64{0.012, 0.06, 0.004, 0.06}, [2]float64{0.018, 0.0225}, [2]float64{2.4, 3}}
)

// write writes an any-price policy of texts that expects these losses, and its encoder beside it. A loss of 1 is worth a dollar.
func (m *money) write(t testing.TB, folder, name string) {
	t.Helper()
	encoded := t.TempDir()
	writePolicy(t, encoded, "encoder", nil)
	about := policies.DefaultSettings()
	about.Paths, about.Workers = []string{encoded}, 1
	set, err := policies.Open(t.Context(), about, orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	p, err := set.Acquire("encoder")
	if err != nil {
		t.Fatal(err)
	}
	x, err := p.Encode(t.Context(), policies.Inputs{Texts: []string{"easy", "hard"}})
	p.Release()
	if err != nil {
		t.Fatal(err)
	}
	dim, length := hftest.Hidden, 0.0
	easy, hard := x[:dim], x[dim:]
	for i := range dim {
		length += math.Pow(float64(hard[i]-easy[i]), 2)
	}
	pairs := len(m.easy)
	a := network.Affine{Out: pairs, In: dim, W: make([]float32, pairs*dim), B: make([]float32, pairs)}
	for k := range pairs {
		a.B[k] = float32(m.easy[k])
		for i := range dim {
			w := (m.hard[k] - m.easy[k]) * float64(hard[i]-easy[i]) / length
			a.W[k*dim+i] = float32(w)
			a.B[k] -= float32(w * float64(easy[i]))
		}
	}
	writeAnyPrice(t, folder, name, func(p *policy.Policy) {
		p.Info, p.Estimate.Margin, p.Estimate.Constant = worthOfLoss(1), 0, m.easy
		p.Actions.Experts[0].Fee, p.Actions.Experts[1].Fee = m.fees[0], m.fees[1]
		p.Estimate.Blend.Parts[0].Estimator = estimate.Linear{Affine: a}
	})
}

// caching is a service that keeps prompts in a cache, as real ones do: whole blocks of the longest prefix that a request shares
// with an earlier one, for a time.
type caching struct {
	ttl  time.Duration
	mu   sync.Mutex
	kept []keptPrompt
}

type keptPrompt struct {
	messages []json.RawMessage
	at       time.Time
}

// serve is a fault of a gatewaytest.Server that answers every request.
func (c *caching) serve(requests func() []byte) func(n int, w http.ResponseWriter, r *http.Request) bool {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		var q struct {
			Model    string
			Messages []json.RawMessage
		}
		if err := json.Unmarshal(requests(), &q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return true
		}
		bytes := 0
		for _, m := range q.Messages {
			bytes += len(m)
		}
		tokens := bytes / 4
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":20,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`,
			q.Model, tokens, tokens+20, c.find(q.Messages))
		return true
	}
}

// find returns the cached tokens of a prompt, and keeps it.
func (c *caching) find(messages []json.RawMessage) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 0
	for i := range c.kept {
		if time.Since(c.kept[i].at) > c.ttl {
			continue
		}
		same := 0
		for k, m := range c.kept[i].messages {
			if k >= len(messages) || string(m) != string(messages[k]) {
				break
			}
			same += len(m)
		}
		if same > most {
			most = same
			c.kept[i].at = time.Now()
		}
	}
	c.kept = append(c.kept, keptPrompt{slices.Clone(messages), time.Now()})
	if most /= 4; most < 1024 {
		return 0
	}
	return most / 128 * 128
}

// newSessions starts a gateway with the policy "priced" and caching services.
func newSessions(t testing.TB, m money, ttl time.Duration, change func(*Settings), more ...func(folder string, s *decision.Settings)) *world {
	t.Helper()
	w := newWorldOf(t, nil, func(s *Settings) {
		s.Sessions.On = true
		for i, name := range []string{"small", "large"} {
			e, in, cached, out := s.Experts[name], m.in[i], m.in[i]/10, 1.0
			e.Price = &expert.Price{In: &in, Cached: &cached, Out: &out, CacheTTL: ttl}
			s.Experts[name] = e
		}
		if change != nil {
			change(s)
		}
	}, append([]func(string, *decision.Settings){func(folder string, _ *decision.Settings) { m.write(t, folder, "priced") }}, more...)...)
	w.small.SetFault((&caching{ttl: ttl}).serve(func() []byte { r := w.small.Requests(); return r[len(r)-1].Body }))
	w.large.SetFault((&caching{ttl: ttl}).serve(func() []byte { r := w.large.Requests(); return r[len(r)-1].Body }))
	return w
}

// dialogue is a conversation that a client holds.
type dialogue struct {
	name     int
	messages []string
}

func begin(name int) *dialogue {
	return &dialogue{name, []string{fmt.Sprintf(`{"role":"system","content":"%d %s"}`, name, strings.Repeat("rules ", 5000))}}
}

// ask sends the next message of the user, and returns the expert that answered.
func (d *dialogue) ask(t testing.TB, w *world, text string, header ...string) string {
	d.messages = append(d.messages, fmt.Sprintf(`{"role":"user","content":%q}`, text))
	e := d.send(t, w, header...)
	d.messages = append(d.messages, fmt.Sprintf(`{"role":"assistant","content":%q}`, strings.Repeat("word ", 1000)))
	return e
}

// call is ask for a message that the expert answers by a call of a tool; the result is sent at once.
func (d *dialogue) call(t testing.TB, w *world, text, result string) (first, second string) {
	d.messages = append(d.messages, fmt.Sprintf(`{"role":"user","content":%q}`, text))
	first = d.send(t, w)
	d.messages = append(d.messages, `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		fmt.Sprintf(`{"role":"tool","tool_call_id":"t1","content":%q}`, result))
	return first, d.send(t, w)
}

func (d *dialogue) send(t testing.TB, w *world, header ...string) string {
	t.Helper()
	a := w.post(t, fmt.Sprintf(`{"model":"pipe/priced","messages":[%s]}`, strings.Join(d.messages, ",")), header...)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return a.header.Get("X-Pipe-Expert")
}

// TestSessionsOverTheGateway holds conversations with services that bill cached tokens, with sessions and without: with them, losses and
// bills together are lower, and what was predicted is what is billed.
func TestSessionsOverTheGateway(t *testing.T) {
	hold := func(on bool) (total, bill float64, w *world) {
		w = newSessions(t, level, time.Hour, func(s *Settings) { s.Sessions.On = on })
		r := rand.New(rand.NewPCG(7, 7))
		for i := range 60 {
			d := begin(i)
			for n := 0; n == 0 || r.Float64() < 0.75 && n < 12; n++ {
				text := "easy"
				if r.Float64() < 0.4 {
					text = "hard"
				}
				d.ask(t, w, text)
			}
		}
		for _, r := range w.records(t) {
			if !r.FeeKnown || r.Executed != r.Action || (r.Session != "") != on || (r.Turn > 0) != on {
				t.Fatalf("%+v", r)
			}
			bill += r.Fee
			total += r.Fee + float64(r.ExpectedLoss[r.Action])
		}
		return total, bill, w
	}
	planned, billed, w := hold(true)
	plain, plainBill, _ := hold(false)
	c := w.api.Sessions()
	t.Logf("loss and bill %.4f with sessions (bill %.4f), %.4f without (bill %.4f); %+v", planned, billed, plain, plainBill, *c)
	if planned >= plain {
		t.Errorf("sessions cost %v, %v without them", planned, plain)
	}
	if ratio := c.Predicted / c.Billed; !(math.Abs(ratio-1) < 0.01) {
		t.Errorf("predicted %v of the bill", ratio)
	}
	if c.Sessions != 60 || c.Turns < 100 || c.Priced == 0 {
		t.Errorf("%+v", c)
	}
}

// The log says which conversation a decision belongs to, what a switch would have cost, and whether the expert stayed because of it.
func TestSessionsInTheLog(t *testing.T) {
	w := newSessions(t, steep, time.Hour, nil)
	d := begin(1)
	if e := d.ask(t, w, "hard"); e != "large" {
		t.Fatalf("%s answers the first turn", e)
	}
	// 4,000 tokens in the cache of large cost 0.0024 instead of 0.024; small would have to read all of them for 0.0024.
	if e := d.ask(t, w, "easy"); e != "large" && e != "small" {
		t.Fatal(e)
	}
	begin(2).ask(t, w, "easy")
	list := w.records(t)
	one, two, other := list[0], list[1], list[2]
	if len(one.Session) != 32 || one.Session != two.Session || other.Session == one.Session || one.Turn != 1 || two.Turn != 2 || other.Turn != 1 {
		t.Errorf("%q %d, %q %d, %q %d", one.Session, one.Turn, two.Session, two.Turn, other.Session, other.Turn)
	}
	if one.SwitchCostKnown || one.Kept != "" || !two.SwitchCostKnown || !(two.SwitchCost > 0.01) {
		t.Errorf("%v %v %q, then %v %v", one.SwitchCostKnown, one.SwitchCost, one.Kept, two.SwitchCostKnown, two.SwitchCost)
	}
	if sum := slices.Max(two.PairFees); !(sum > 0) || slices.Min(two.PairFees) != 0 {
		t.Errorf("surcharges %v", two.PairFees)
	}
}

// While tool calls are open, no other expert answers, and none is explored; unless the expert cannot answer.
func TestToolLoopsStay(t *testing.T) {
	explore := func(_ string, s *decision.Settings) { s.Explore.Epsilon = 0.5 }
	w := newSessions(t, steep, time.Hour, nil, explore)
	for i := range 20 {
		first, second := begin(i).call(t, w, []string{"hard", "easy"}[i%2], "result")
		if first != second {
			t.Errorf("%s asked for a tool, %s got its result", first, second)
		}
	}
	broken := begin(100)
	w.large.SetFault(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		http.Error(rw, "broken", http.StatusInternalServerError)
		return true
	})
	before := w.small
	before.SetFault(func(int, http.ResponseWriter, *http.Request) bool { return false })
	if first, second := broken.call(t, w, "hard", "result"); first != "small" || second != "small" {
		t.Errorf("%s, then %s", first, second)
	}
	for _, r := range w.records(t) {
		if r.Turn != 2 {
			continue
		}
		if r.Kept != "tool_loop" {
			t.Errorf("kept %q", r.Kept)
		}
		sum := 0.0
		for i, p := range r.Propensity {
			if i/2 == r.Executed/2 {
				sum += p
			}
		}
		if sum != 1 || slices.Max(r.Propensity) == 1 {
			t.Errorf("propensities %v, executed %d", r.Propensity, r.Executed)
		}
	}
}

// An expert that fails while its tool calls are open is replaced.
func TestToolLoopOfABrokenExpert(t *testing.T) {
	w := newSessions(t, steep, time.Hour, nil)
	d := begin(1)
	d.messages = append(d.messages, `{"role":"user","content":"hard"}`)
	if e := d.send(t, w); e != "large" {
		t.Fatal(e)
	}
	w.large.SetFault(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		http.Error(rw, "broken", http.StatusInternalServerError)
		return true
	})
	d.messages = append(d.messages, `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `{"role":"tool","tool_call_id":"t1","content":"r"}`)
	if e := d.send(t, w); e != "small" {
		t.Fatal(e)
	}
	r := w.records(t)[1]
	if r.Action/2 != 1 || r.Executed/2 != 0 || r.Kept != "" || r.Propensity[r.Executed] != 0 {
		t.Errorf("%+v", r)
	}
}

// Where the expert fails whose tool calls are open, the best of the other pairs answers, and not the first one of the policy.
func TestToolLoopGoesToTheNextBest(t *testing.T) {
	w := newWorld(t, func(s *Settings) { s.Sessions.On = true })
	d := begin(1)
	d.messages = append(d.messages, `{"role":"user","content":"Is oil good?"}`)
	send := func() answer {
		return w.post(t, `{"model":"pipe","messages":[`+strings.Join(d.messages, ",")+`]}`)
	}
	if a := send(); a.header.Get(headerExpert) != "small" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	w.small.SetFault(fault(500))
	d.messages = append(d.messages, `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `{"role":"tool","tool_call_id":"t1","content":"r"}`)
	if a := send(); a.header.Get(headerExpert) != "large" || a.header.Get(headerAdvice) != "search" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if r := w.records(t)[1]; r.Action != 1 || r.Available[2] || r.Available[3] || r.Executed != 3 {
		t.Errorf("%+v", r)
	}
}

// A policy of fixed prices has no prices of a switch, but tool loops.
func TestSessionsOfFixedPrices(t *testing.T) {
	w := newSessions(t, steep, time.Hour, nil)
	d := begin(1)
	send := func() answer {
		return w.post(t, fmt.Sprintf(`{"model":"pipe/claims","messages":[%s]}`, strings.Join(d.messages, ",")))
	}
	d.messages = append(d.messages, `{"role":"user","content":"hard"}`)
	if a := send(); a.status != 200 {
		t.Fatal(a)
	}
	notes := strings.Join(w.api.Notes(), "\n")
	if !strings.Contains(notes, `sessions: policy "claims" has fixed prices`) || strings.Contains(notes, `sessions: policy "priced"`) {
		t.Error(notes)
	}
	r := w.records(t)[0]
	if r.Session == "" || r.SwitchCostKnown || r.PairFees != nil {
		t.Errorf("%+v", r)
	}
}

// Missing prices are named, and nothing is charged by guess.
func TestSessionsWithoutPrices(t *testing.T) {
	w := newSessions(t, steep, time.Hour, func(s *Settings) { s.Experts["small"].Price.Cached = nil })
	d := begin(1)
	d.ask(t, w, "hard")
	d.ask(t, w, "easy")
	if notes := strings.Join(w.api.Notes(), "\n"); !strings.Contains(notes, `sessions: policy "priced" has no price of a switch`) || !strings.Contains(notes, "not known of small") {
		t.Error(notes)
	}
	if r := w.records(t)[1]; r.Turn != 2 || r.SwitchCostKnown || r.PairFees != nil {
		t.Errorf("%+v", r)
	}
}

// A header names conversations, and does not confuse those of different callers.
func TestSessionHeader(t *testing.T) {
	w := newSessions(t, steep, time.Hour, func(s *Settings) { s.Sessions.Header = "X-Chat" })
	for i := range 3 {
		begin(i).ask(t, w, "easy", "X-Chat", "same")
	}
	begin(9).ask(t, w, "easy", "X-Chat", "other")
	list := w.records(t)
	for i, r := range list {
		if want := []int{1, 2, 3, 1}[i]; r.Turn != want || (r.Session == list[0].Session) != (i < 3) {
			t.Errorf("%d: turn %d of %s", i, r.Turn, r.Session)
		}
	}
}

// TestNoSessions: without the section nothing of a request, an answer or a record changes; with it, and a policy of fixed
// prices, only the record does.
func TestNoSessions(t *testing.T) {
	var answers [2]answer
	var sent [2]string
	var records [2]*decisionlog.Record
	for i := range answers {
		w := newWorld(t, func(s *Settings) { s.Sessions.On = i == 1 })
		answers[i] = w.post(t, question+`}`, "X-Request-Id", "r1")
		sent[i] = string(w.small.Requests()[0].Body)
		records[i] = w.records(t)[0]
		if (w.api.Sessions() != nil) != (i == 1) {
			t.Error("sessions that nobody asked for")
		}
	}
	if answers[0].body != answers[1].body || sent[0] != sent[1] {
		t.Errorf("%v\n%v", answers, sent)
	}
	for _, name := range []string{"X-Pipe-Decision", "Date"} {
		answers[0].header.Del(name)
		answers[1].header.Del(name)
	}
	if fmt.Sprint(answers[0].header) != fmt.Sprint(answers[1].header) {
		t.Errorf("%v\n%v", answers[0].header, answers[1].header)
	}
	if r := records[0]; r.Session != "" || r.Turn != 0 || r.SwitchCostKnown || r.Kept != "" {
		t.Errorf("%+v", r)
	}
	if r := records[1]; r.Session == "" || r.Turn != 1 || !slices.Equal(r.Propensity, records[0].Propensity) {
		t.Errorf("%+v", r)
	}
}

// Settings of sessions that cannot change while the server runs are refused by a reload.
func TestSessionsReload(t *testing.T) {
	w := newSessions(t, steep, time.Hour, nil)
	s := w.settings()
	if err := w.api.Reload(s, func([]string) {}); err == nil || !strings.Contains(err.Error(), "sessions: only header") {
		t.Error(err)
	}
	s.Sessions.On, s.Sessions.Turns = true, 7
	if err := w.api.Reload(s, func([]string) {}); err != nil {
		t.Error(err)
	}
}

// The requests of a conversation are one session in every protocol: OpenAI's Responses, by the response that they go on from, and
// Anthropic's Messages.
func TestSessionsOfProtocols(t *testing.T) {
	w := newSessions(t, steep, time.Hour, nil)
	send := func(path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := w.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var answer struct{ ID string }
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK || answer.ID == "" {
			t.Fatalf("%s: %d, %+v, %v", path, response.StatusCode, answer, err)
		}
		return answer.ID
	}
	id := send("/v1/responses", `{"model":"pipe/priced","input":"hard"}`)
	id = send("/v1/responses", fmt.Sprintf(`{"model":"pipe/priced","previous_response_id":%q,"input":"easy"}`, id))
	send("/v1/responses", fmt.Sprintf(`{"model":"pipe/priced","previous_response_id":%q,"input":"easy"}`, id))
	const first = `{"model":"pipe/priced","max_tokens":10,"system":"s","messages":[{"role":"user","content":"easy"}`
	send("/v1/messages", first+`]}`)
	send("/v1/messages", first+`,{"role":"assistant","content":"ok"},{"role":"user","content":"hard"}]}`)
	var turns []int
	list := w.records(t)
	for _, r := range list {
		turns = append(turns, r.Turn)
	}
	if !slices.Equal(turns, []int{1, 2, 3, 1, 2}) || list[0].Session != list[2].Session || list[3].Session != list[4].Session || list[0].Session == list[3].Session {
		t.Errorf("turns %v", turns)
	}
}
