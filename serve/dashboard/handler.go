package dashboard

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"pipe/pipeline/report/page"
	"pipe/serve/budget"
	"pipe/serve/policies"
)

// Sources provide the figures of the page. The parts of functions that are nil are left out. The functions are called from
// many goroutines at once.
type Sources struct {
	Collector  *Collector
	Policies   *policies.Set
	Version    string // of the program
	Keys       bool   // callers need a key, so examples of requests have one
	Log        func() *LogState
	Breakers   func() []Breaker
	Patience   func() []PatienceState
	Monitor    func() []MonitorState
	Candidates func() []CandidateState
	// Exploration returns nil if nothing is explored.
	Exploration func() *ExplorationState
	Budgets     func() []budget.State
	Sessions    func() *SessionsState
}

// Page has the handlers of the page. Make one with New.
type Page struct {
	from    Sources
	latest  latestOnly // for the frontier
	tries   chan struct{}
	monitor verdicts
}

// monitorAge is how long the verdicts of the monitor are cached. Its tests take longer than all other figures together.
const monitorAge = 15 * time.Second

// verdicts caches the verdicts of the monitor.
type verdicts struct {
	mu    sync.Mutex
	at    time.Time
	found []MonitorState
}

// get returns the verdicts, and updates them if they are too old. Concurrent calls update them once.
func (v *verdicts) get(ask func() []MonitorState) []MonitorState {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.at.IsZero() || time.Since(v.at) > monitorAge {
		v.found, v.at = ask(), time.Now()
	}
	return v.found
}

// New makes the page.
func New(from Sources) *Page {
	return &Page{from: from, latest: latestOnly{turn: make(chan struct{}, 1)}, tries: make(chan struct{}, maxTries)}
}

// Register adds the routes: the page at /, and its parts below /page/.
func (p *Page) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", p.page)
	mux.HandleFunc("GET /page/state", p.state)
	mux.HandleFunc("GET /page/parts", p.parts)
	mux.HandleFunc("GET /page/frontier", p.frontier)
	mux.Handle("POST /page/try", http.NewCrossOriginProtection().Handler(http.HandlerFunc(p.try)))
	assets.Register(mux, "/page")
}

var (
	//go:embed page.css
	ownStyle string
	//go:embed page.js
	script string
	assets = page.NewAssets(ownStyle, script)
)

// query selects the figures of a request.
type query struct {
	policy  string // name, name@digest, or empty
	minutes int
	values  url.Values
}

// windows are the lengths of the window on offer, in minutes.
var windows = []int{1, 5, 15, 60}

const defaultMinutes = 15

// queryOf reads the query of a request. Invalid values are replaced by the defaults.
func queryOf(values url.Values) query {
	q := query{policy: values.Get("policy"), minutes: defaultMinutes, values: values}
	if m, err := strconv.Atoi(values.Get("minutes")); err == nil && m >= 1 && m <= minuteSlots {
		q.minutes = m
	}
	return q
}

// view collects the figures of the page.
func (p *Page) view(q query) *view {
	v := &view{state: p.from.Collector.State(q.minutes), loaded: p.loaded(), keys: p.from.Keys}
	v.policy = chooseVersion(v.state.Policies, q.policy, v.loaded)
	if p.from.Log != nil {
		v.log = p.from.Log()
	}
	if p.from.Breakers != nil {
		v.breakers = p.from.Breakers()
	}
	if p.from.Patience != nil {
		v.patience = p.from.Patience()
	}
	if p.from.Candidates != nil {
		v.candidates = p.from.Candidates()
	}
	if p.from.Exploration != nil {
		v.exploration = p.from.Exploration()
	}
	if p.from.Budgets != nil {
		v.budgets = p.from.Budgets()
	}
	if p.from.Sessions != nil {
		v.sessions = p.from.Sessions()
	}
	if p.from.Monitor != nil {
		v.monitor = p.monitor.get(p.from.Monitor)
	}
	return v
}

// chooseVersion returns the version whose figures are shown: the requested one (for a name, its latest version), or else the
// one with the most decisions in the window. It returns nil if none has decided.
func chooseVersion(all []PolicyState, asked string, loaded []Loaded) *PolicyState {
	var most *PolicyState
	for i := range all {
		s := &all[i]
		if asked != "" && (s.Name == asked || strings.HasPrefix(versionKey(s.Name, s.Digest), asked) && strings.HasPrefix(asked, s.Name+"@")) {
			return s
		}
		if most == nil || s.Decisions > most.Decisions {
			most = s
		}
	}
	for _, l := range loaded {
		if asked == l.Name || asked == versionKey(l.Name, l.Digest) {
			return nil // it is loaded, but has not decided yet
		}
	}
	return most
}

// loaded returns the policies that are served now.
func (p *Page) loaded() []Loaded {
	var all []Loaded
	if p.from.Policies == nil {
		return nil
	}
	for _, n := range p.from.Policies.Names() {
		l, err := p.from.Policies.Acquire(n)
		if err != nil {
			continue // it was removed meanwhile
		}
		all = append(all, Loaded{
			Name: l.Name, Digest: l.Digest, Default: l.Name == p.from.Policies.Default(), Input: l.Input(), Columns: l.Columns(), Since: l.Loaded, Info: l.Info(),
		})
		l.Release()
	}
	return all
}

// state writes the figures as JSON, for other programs.
func (p *Page) state(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, newStateParts(p.view(queryOf(r.URL.Query()))))
}

// stateParts is the state with parts that are encoded separately, so that a part that cannot be encoded does not prevent the
// others.
type stateParts struct {
	*State
	Traffic  json.RawMessage   `json:"traffic"`
	Policies []json.RawMessage `json:"policies"`
	Log      json.RawMessage   `json:"log,omitempty"`
	Breakers json.RawMessage   `json:"breakers,omitempty"`
	Patience json.RawMessage   `json:"patience,omitempty"`
	Monitor  json.RawMessage   `json:"monitor,omitempty"`
	Tried    json.RawMessage   `json:"candidates,omitempty"`
	Explores json.RawMessage   `json:"exploration,omitempty"`
	Sessions json.RawMessage   `json:"sessions,omitempty"`
	Failed   map[string]string `json:"failed,omitempty"` // parts that could not be encoded, and why
}

func newStateParts(v *view) *stateParts {
	s := &stateParts{State: v.state, Policies: []json.RawMessage{}, Failed: map[string]string{}}
	part := func(name string, of any) json.RawMessage {
		b, err := json.Marshal(of)
		if err != nil {
			s.Failed[name] = err.Error()
			return nil
		}
		return b
	}
	s.Traffic = part("traffic", v.state.Traffic)
	for _, p := range v.state.Policies {
		if b := part("policy "+versionKey(p.Name, p.Digest), p); b != nil {
			s.Policies = append(s.Policies, b)
		}
	}
	if v.log != nil {
		s.Log = part("log", v.log)
	}
	if len(v.breakers) > 0 {
		s.Breakers = part("breakers", v.breakers)
	}
	if len(v.patience) > 0 {
		s.Patience = part("patience", v.patience)
	}
	if len(v.monitor) > 0 {
		s.Monitor = part("monitor", v.monitor)
	}
	if len(v.candidates) > 0 {
		s.Tried = part("candidates", v.candidates)
	}
	if v.exploration != nil {
		s.Explores = part("exploration", v.exploration)
	}
	if v.sessions != nil {
		s.Sessions = part("sessions", v.sessions)
	}
	return s
}

// part is a section of the page as HTML.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// parts writes the parts of the page that change.
func (p *Page) parts(w http.ResponseWriter, r *http.Request) {
	v := p.view(queryOf(r.URL.Query()))
	var answers bytes.Buffer
	for _, a := range v.answers() {
		answers.WriteString(string(answerHTML(a)))
	}
	var sections []part
	for _, s := range v.sections() {
		sections = append(sections, part{s.ID, string(sectionHTML(s))})
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"kind": v.subtitle(p.from.Version), "answers": answers.String(), "sections": sections, "decided": v.state.Traffic.TotalDecisions > 0,
	})
}

// frontier writes the frontier at the prices of the query, as figures and as HTML.
func (p *Page) frontier(w http.ResponseWriter, r *http.Request) {
	f, err := p.computeFrontier(r.Context(), queryOf(r.URL.Query()))
	status := http.StatusOK
	switch {
	case err == nil:
	case errors.Is(err, errSuperseded):
		status = http.StatusConflict
	case errors.Is(err, errNoRows) || errors.Is(err, errNoExpectations):
	default:
		status = statusOf(err)
	}
	out := map[string]any{"html": string(sectionHTML(frontierSection(f, err)))}
	if f != nil {
		out["frontier"] = f
	}
	if err != nil {
		out["error"] = map[string]any{"message": err.Error()}
	}
	writeJSON(w, status, out)
}

// writeJSON writes a JSON response. Values must not be NaN: unknown figures are absent.
func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the figures are not JSON: "+err.Error(), http.StatusInternalServerError)
		return
	}
	page.SetHeaders(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client may be gone
}
