package gate

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// worlds is the number of simulated worlds of a test: PIPE_WORLDS, or fewer by default.
func worlds(t *testing.T) int {
	text := os.Getenv("PIPE_WORLDS")
	if text == "" {
		return 60
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PIPE_WORLDS: %q", text)
	}
	return n
}

// law is the world of a test: two policies that differ on a part of the requests, and what these cost.
type law struct {
	share    float64 // of the candidate
	differ   float64 // part of the requests
	live     float64 // cost of the live policy's choice where they differ: the probability of a loss of 1
	gain     float64 // by how much less the candidate's choice costs there
	requests int     // of each user, on average: geometric
	kind     float64 // standard deviation of the difficulty of users
	missing  func(cost float64, candidate bool) float64
	delay    func(cost float64, candidate bool) int // in requests
}

// planted are two policies with four pairs at no fees.
func planted(t testing.TB) Trial {
	t.Helper()
	actions := &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "hint"}},
	}
	if err := actions.Validate(); err != nil {
		t.Fatal(err)
	}
	return Trial{
		Live:      &decisionlog.PolicyInfo{Name: "live", Digest: "d-live", Actions: actions, Dim: 2},
		Candidate: &decisionlog.PolicyInfo{Name: "next", Digest: "d-next", Actions: actions, Dim: 2},
		Share:     0.1,
	}
}

// world draws requests of a law.
type world struct {
	law
	r     *rand.Rand
	trial Trial
	n     int
	users []*user // who ask again
	queue map[int][]decisionlog.Outcome
}

type user struct {
	name      string
	candidate bool
	hard      float64
}

func (l law) world(t testing.TB, seed uint64) *world {
	if l.requests == 0 {
		l.requests = 1
	}
	w := &world{law: l, r: rand.New(rand.NewPCG(seed, 7)), trial: planted(t), queue: map[int][]decisionlog.Outcome{}}
	w.trial.Share = l.share
	return w
}

// next is a request and the outcomes that come before the next one.
func (w *world) next() (*decisionlog.Record, []decisionlog.Outcome) {
	w.n++
	u := w.user()
	live, candidate := 0, 0
	if w.r.Float64() < w.differ {
		candidate = 1
	}
	rec := w.record(u, live, candidate)
	p := w.live + u.hard
	if rec.Action == 1 {
		p -= w.gain
	}
	cost := 0.0
	if w.r.Float64() < p {
		cost = 1
	}
	if w.missing == nil || w.r.Float64() >= w.missing(cost, u.candidate) {
		at := w.n
		if w.delay != nil {
			at += w.delay(cost, u.candidate)
		}
		w.queue[at] = append(w.queue[at], decisionlog.Outcome{ID: rec.ID, Loss: &cost, Time: int64(at)})
	}
	told := w.queue[w.n]
	delete(w.queue, w.n)
	return rec, told
}

// user is a new one, or one of those who ask again.
func (w *world) user() *user {
	if len(w.users) > 0 && w.r.IntN(w.requests) > 0 {
		return w.users[w.r.IntN(len(w.users))]
	}
	u := &user{"u" + strconv.Itoa(w.n), w.r.Float64() < w.share, w.kind * w.r.NormFloat64()}
	w.users = append(w.users, u)
	return u
}

func (w *world) record(u *user, live, candidate int) *decisionlog.Record {
	rec := &decisionlog.Record{
		ID: "d" + strconv.Itoa(w.n), Time: int64(w.n), User: u.name, Policy: "live", Digest: "d-live", Canary: u.candidate, Share: w.share,
		ExpertFees: make([]float64, 2), AdviceFees: make([]float64, 2), Available: []bool{true, true, true, true}, Executed: -1, Keep: 1,
		OwnPropensity: make([]float64, 4), Propensity: make([]float64, 4), Action: live,
	}
	if u.candidate {
		rec.Policy, rec.Digest, rec.Action = "next", "d-next", candidate
	}
	rec.OwnPropensity[rec.Action] = 1
	rec.Propensity[live] += 1 - w.share
	rec.Propensity[candidate] += w.share
	return rec
}

// run asks until the gate has a verdict, at most most times, and returns the verdict and the number of requests.
func (w *world) run(t testing.TB, most int) (*Gate, int) {
	t.Helper()
	g, err := New(w.trial, Settings{Costs: []float64{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for range most {
		rec, told := w.next()
		g.Decision(rec)
		for _, o := range told {
			g.Outcome(o)
		}
		if g.verdict != GoOn {
			break
		}
	}
	return g, w.n
}

// promoted counts the worlds of a law in which the candidate is promoted within a number of requests.
func (l law) promoted(t *testing.T, worlds, most int) (promoted, stopped int) {
	t.Helper()
	for seed := range worlds {
		switch g, _ := l.world(t, uint64(seed)).run(t, most); g.verdict {
		case Promote:
			promoted++
		case Stop:
			stopped++
		}
	}
	t.Logf("of %d worlds, %d promoted and %d stopped the candidate within %d requests", worlds, promoted, stopped, most)
	return promoted, stopped
}

// atMost fails if more than 5% of the worlds are wrong, with three standard errors for the chance of few worlds.
func atMost(t *testing.T, wrong, worlds int) {
	t.Helper()
	if n := float64(worlds); float64(wrong) > 0.05*n+3*math.Sqrt(0.05*0.95*n) {
		t.Errorf("%d of %d worlds are wrong", wrong, worlds)
	}
}

// The policies of the laws differ on three requests in ten, and cost 0.4 there.
var base = law{share: 0.1, differ: 0.3, live: 0.4}

// promotedWithin are the requests within which a candidate that costs 0.03 less per request is promoted in 80% of worlds.
const promotedWithin = 25000

func TestWorseIsNotPromoted(t *testing.T) {
	l, n := base, worlds(t)
	l.gain = -0.1
	promoted, stopped := l.promoted(t, n, promotedWithin)
	atMost(t, promoted, n)
	if stopped < n/2 {
		t.Errorf("%d of %d were stopped", stopped, n)
	}
}

func TestEqualIsNotPromoted(t *testing.T) {
	n := worlds(t)
	promoted, stopped := base.promoted(t, n, promotedWithin)
	atMost(t, promoted, n)
	atMost(t, stopped, n)
}

func TestBetterIsPromoted(t *testing.T) {
	l, n := base, worlds(t)
	l.gain = 0.1 // times 0.3: 0.03 per request
	promoted, stopped := l.promoted(t, n, promotedWithin)
	if float64(promoted) < 0.8*float64(n) || stopped > n/20 {
		t.Errorf("%d of %d were promoted, %d stopped", promoted, n, stopped)
	}
}

// TestUsersWithManyRequests: each user asks forty times on average, and users differ in how hard their requests are. All requests
// of a user have the same policy, so a term for each request would count the luck of few users many times.
func TestUsersWithManyRequests(t *testing.T) {
	l, n := base, worlds(t)
	l.requests, l.kind = 40, 0.25
	equal, stopped := l.promoted(t, n, promotedWithin)
	atMost(t, equal, n)
	atMost(t, stopped, n)
	l.gain = -0.1
	worse, _ := l.promoted(t, n, promotedWithin)
	atMost(t, worse, n)
}

// TestATermPerRequestIsWrong shows that the worlds above would find a gate with a term for each request of a user.
func TestATermPerRequestIsWrong(t *testing.T) {
	l, n, wrong := base, worlds(t)/3, 0
	l.requests, l.kind = 400, 0.3
	for seed := range n {
		w := l.world(t, uint64(seed))
		g, err := New(w.trial, Settings{Costs: []float64{0, 1}})
		if err != nil {
			t.Fatal(err)
		}
		for range promotedWithin {
			rec, told := w.next()
			rec.User, rec.Request = "", rec.ID // every request a user of its own
			g.Decision(rec)
			for _, o := range told {
				g.Outcome(o)
			}
		}
		if g.verdict != GoOn {
			wrong++
		}
	}
	t.Logf("%d of %d worlds are wrong", wrong, n)
	if wrong <= n/10 {
		t.Errorf("%d of %d worlds are wrong: they would not find the mistake", wrong, n)
	}
}

// TestMissingOutcomes: half of the losses of the candidate never come, so that it seems better. Where outcomes are late or
// missing alike, a better candidate is promoted all the same.
func TestMissingOutcomes(t *testing.T) {
	l, n := base, worlds(t)
	l.missing = func(cost float64, candidate bool) float64 {
		if candidate && cost == 1 {
			return 0.5
		}
		return 0
	}
	wrong, blocked := 0, 0
	for seed := range n {
		g, _ := l.world(t, uint64(seed)).run(t, promotedWithin)
		if s := g.Status(now); s.Verdict == Promote {
			wrong++
		} else if s.Reason == ReasonMissing {
			blocked++
		}
	}
	t.Logf("%d of %d worlds promoted, %d blocked", wrong, n, blocked)
	atMost(t, wrong, n)
	if blocked < n/2 {
		t.Errorf("%d of %d were blocked for missing outcomes", blocked, n)
	}
	l.gain = 0.1
	l.missing = func(float64, bool) float64 { return 0.3 }
	l.delay = func(cost float64, _ bool) int { return 50 + int(200*cost) }
	if promoted, _ := l.promoted(t, n, 2*promotedWithin); promoted < n*8/10 {
		t.Errorf("%d of %d were promoted", promoted, n)
	}
}
