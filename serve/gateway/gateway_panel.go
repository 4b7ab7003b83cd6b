package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/panels"
	"pipe/serve/gateway/protocol"
	"pipe/serve/ledger"
)

// panel answers requests by several pairs in the background.
type panel struct {
	api      *API
	settings panels.Settings // of the start
	ledger   *ledger.Ledger
	jobs     chan *panelJob
	ctx      context.Context // of the calls
	cancel   context.CancelFunc
	workers  sync.WaitGroup
	file     sync.Mutex // held while an answer is appended

	mu     sync.Mutex
	closed bool
	bytes  int       // of the requests that wait
	warned time.Time // when dropped requests were last logged

	counts [panelResults]atomic.Int64 // of requests, by result
}

// panelJob is a request that several pairs answer.
type panelJob struct {
	*backends // held until the job is done
	request   *protocol.Incoming
	headers   http.Header
	question  string // the text that advice is fetched for
	actions   *costs.Actions
	records   []*decisionlog.Record // one for each pair
	callCost  float64
	fetched   map[int]fetchedAdvice
	answers   []panelText // for the grader
}

// panelResult is what became of a request of a panel.
type panelResult int

// The results.
const (
	panelAnswered  panelResult = iota // by all of its pairs
	panelPartly                       // some of its pairs failed
	panelDropped                      // the queue was full
	panelBudget                       // the budget of the day has no room
	panelAbandoned                    // the server stopped
	panelResults
)

// String names the result in metrics.
func (r panelResult) String() string {
	return [panelResults]string{"answered", "partly", "dropped", "budget", "abandoned"}[r]
}

const panelLedgerFile = "panel-ledger.json"

// newPanel opens the ledger and starts the workers.
func newPanel(a *API, s panels.Settings) (*panel, error) {
	o := ledger.Options{Every: time.Second, Log: a.log}
	if s.Folder != "" {
		o.File = filepath.Join(s.Folder, panelLedgerFile)
	}
	l, err := ledger.Open("panel", s.Budget, o)
	if err != nil {
		return nil, err
	}
	p := &panel{api: a, settings: s, ledger: l, jobs: make(chan *panelJob, s.Queue)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for range s.Workers {
		p.workers.Go(func() {
			for job := range p.jobs {
				p.taken(job)
				p.run(job)
			}
		})
	}
	state := l.State()
	a.log.Info("panel", "share", s.Share, "pairs", s.Pairs, "day", state.Day, "spent", state.Spent, "allowance", state.Allowance)
	return p, nil
}

// offerPanel draws whether a panel answers the request too, and queues it. It does not wait. The decision must not be logged
// yet.
func (q *routed) offerPanel() {
	p, s := q.api.panel, q.settings.Panel
	if p == nil || !s.Enabled() || !q.result.CanPanel() || rand.Float64() >= s.Share {
		return
	}
	if !p.offer(q, s) {
		p.count(q.result.Policy.Name, panelDropped)
	}
}

// offer queues a request. It returns false if that is not possible.
func (p *panel) offer(q *routed, s panels.Settings) bool {
	request, err := q.request.Whole()
	if err != nil { // the caller's request was read before
		q.api.log.LogAttrs(q.r.Context(), slog.LevelError, "a request cannot be answered by a panel", q.id(), slog.String("error", err.Error()))
		return false
	}
	job := &panelJob{
		backends: q.backends, request: request, headers: q.headers.Clone(), question: q.question, actions: q.actions, callCost: s.CallCost,
		fetched: make(map[int]fetchedAdvice),
	}
	job.draw(q, s)
	if len(job.records) == 0 {
		return false
	}
	p.api.hold(job.backends)
	if p.queue(job) {
		return true
	}
	p.api.release(job.backends)
	return false
}

// draw draws the pairs that answer: all that are available, or a number of them, each with the same probability.
func (j *panelJob) draw(q *routed, s panels.Settings) {
	var pairs []int
	for _, pair := range q.result.Pairs(0) {
		if q.experts[q.expertOf(pair)] != nil { // a canary may name others
			pairs = append(pairs, pair)
		}
	}
	n := s.Number()
	if n == 0 || n > len(pairs) {
		n = len(pairs)
	}
	keep := s.Share * float64(n) / float64(len(pairs))
	for _, i := range rand.Perm(len(pairs))[:n] {
		j.records = append(j.records, q.result.PanelRecord(pairs[i], keep))
	}
}

// reserved is the most money that a job can cost: a call for each pair, and one for its grade where a judge is asked.
func (j *panelJob) reserved() float64 {
	calls := len(j.records)
	if j.settings.Panel.Grader.Asks() {
		calls *= 2
	}
	return float64(calls) * j.callCost
}

// queue adds a job unless the queue is full or closed.
func (p *panel) queue(j *panelJob) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if n := p.bytes + j.request.Len(); n <= maxPanelBytes {
		select {
		case p.jobs <- j:
			p.bytes = n
			p.api.metrics.Queue("panel", len(p.jobs))
			return true
		default:
		}
	}
	if now := time.Now(); now.Sub(p.warned) > time.Minute {
		p.warned = now
		p.api.log.Warn("requests of a panel are dropped: it cannot follow", "queue", p.settings.Queue, "dropped", p.counts[panelDropped].Load()+1)
	}
	return false
}

// taken says that a job waits no longer.
func (p *panel) taken(j *panelJob) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes -= j.request.Len()
	p.api.metrics.Queue("panel", len(p.jobs))
}

// maxPanelBytes bounds the memory of the requests that wait.
const maxPanelBytes = 64 << 20

func (p *panel) count(policy string, r panelResult) {
	p.counts[r].Add(1)
	p.api.metrics.Panel(policy, r.String())
}

// run lets all pairs of a job answer, if the budget has room for them.
func (p *panel) run(j *panelJob) {
	defer p.api.release(j.backends)
	policy := j.records[0].Policy
	if p.ctx.Err() != nil {
		p.count(policy, panelAbandoned)
		return
	}
	charge, ok := p.ledger.SpendNow(j.reserved())
	if !ok {
		p.count(policy, panelBudget)
		return
	}
	result, spent := p.askAll(j)
	spent += p.grade(j)
	charge.Settle(spent)
	p.count(policy, result)
}

// askAll lets the pairs of a job answer, one after the other. It returns the money that the budget is charged with.
func (p *panel) askAll(j *panelJob) (result panelResult, spent float64) {
	for _, rec := range j.records {
		cost, err := p.ask(j, rec)
		spent += cost
		if err == nil {
			continue
		}
		if p.ctx.Err() != nil {
			return panelAbandoned, spent
		}
		result = panelPartly
		p.api.log.Warn("a pair did not answer a request of a panel", "request", rec.Request, "pair", j.actions.Name(rec.Action), "error", err.Error())
	}
	return result, spent
}

// ask lets one pair answer, and logs it. It returns the money that the budget is charged with, and why there is no answer.
func (p *panel) ask(j *panelJob, rec *decisionlog.Record) (cost float64, err error) {
	of, _ := j.actions.Pair(rec.Action)
	e := j.experts[j.actions.Experts[of].Name]
	rec.Time = time.Now().UnixMicro()
	answer, cost, err := p.call(j, e, rec)
	p.api.metrics.PanelCall(e.Name, err == nil, rec.Fee)
	if err != nil {
		rec.Error = err.Error()
	}
	notLogged := p.api.decider.LogPanel(rec)
	if notLogged != nil {
		p.api.log.Error("an answer of a panel could not be logged", "request", rec.Request, "error", notLogged.Error())
	}
	if err == nil {
		p.keep(j, rec, answer.Body)
	}
	if err == nil && notLogged == nil {
		j.answered(rec, answer.Body)
	}
	return cost, err
}

// call fetches the advice and calls the expert. An expert whose breaker is not closed is left to the callers.
func (p *panel) call(j *panelJob, e *expert.Expert, rec *decisionlog.Record) (_ *expert.Answer, cost float64, err error) {
	if s := e.State(); s != expert.Closed {
		return nil, 0, fmt.Errorf("%s: its circuit breaker is %s", e.Name, s)
	}
	ctx, stop, cancel := withDeadline(p.ctx, j.settings.Fallback.Deadline)
	defer cancel(nil)
	defer stop()
	message, err := p.advise(ctx, j, rec)
	if err != nil {
		return nil, 0, err
	}
	hold, err := p.hold(e, j.request, message)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	answer, err := e.Call(ctx, j.request, message, j.headers)
	rec.Stages.Expert = time.Since(began).Microseconds()
	attempt := decisionlog.Attempt{Action: rec.Action, Micros: rec.Stages.Expert}
	if err == nil {
		attempt.Status = answer.Status
		hold.answered(&outcome{usage: answer.Usage, fee: e.Fee(answer.Model, answer.Usage, time.Now()), refused: answer.Status != http.StatusOK})
		cost, err = p.take(j, e, rec, answer)
	} else {
		attempt.Error = err.Error()
		hold.failed(e, err)
		cost = j.costOfFailure(e, err)
	}
	rec.Attempts = []decisionlog.Attempt{attempt}
	return answer, cost, err
}

// advise fetches the advice of a pair, each at most once for a request.
func (p *panel) advise(ctx context.Context, j *panelJob, rec *decisionlog.Record) (*chatjson.Addition, error) {
	_, k := j.actions.Pair(rec.Action)
	if k == 0 {
		return nil, nil
	}
	name := j.actions.Advice[k].Name
	if f, ok := j.fetched[k]; ok {
		return f.message, f.err
	}
	if j.advice[name] == nil {
		return nil, fmt.Errorf("advice %s is not configured", name)
	}
	began := time.Now()
	message, _, err := j.advice[name].Fetch(ctx, j.question)
	rec.Stages.Advise = time.Since(began).Microseconds()
	j.fetched[k] = fetchedAdvice{message, err}
	return message, err
}

// take puts an answer into the record. An answer without content, and a refusal, are errors.
func (p *panel) take(j *panelJob, e *expert.Expert, rec *decisionlog.Record, a *expert.Answer) (cost float64, err error) {
	if a.Status != http.StatusOK {
		return 0, fmt.Errorf("%s: the expert refused the request: HTTP %d", e.Name, a.Status)
	}
	fee, u := e.Fee(a.Model, a.Usage, time.Now()), a.Usage
	rec.Model, rec.Fee, rec.FeeKnown, rec.PriceDate = a.Model, fee.Money, fee.Known, fee.Since
	rec.Usage = decisionlog.Usage{In: u.In, Cached: u.Cached, Out: u.Out, Known: u.Known, CachedKnown: u.Known && u.CachedKnown}
	rec.TokenParts = u.Parts.List()
	cost = j.costOf(fee)
	if a.OtherMayAnswer != "" {
		return cost, fmt.Errorf("%s: %s", e.Name, a.OtherMayAnswer)
	}
	rec.Executed = rec.Action
	return cost, nil
}

// costOf is what a call is taken to have cost: the most that one can cost if its fee is not known.
func (j *panelJob) costOf(fee expert.Fee) float64 {
	if fee.Known {
		return fee.Money
	}
	return j.callCost
}

// costOfFailure is what a failed call is taken to have cost: nothing if the service did not get it, its usage if it states that,
// and else the most that a call can cost.
func (j *panelJob) costOfFailure(e *expert.Expert, err error) float64 {
	var f *expert.Failure
	if !errors.As(err, &f) {
		return j.callCost
	}
	if fee := e.Fee(f.Model, f.Usage, time.Now()); fee.Known {
		return fee.Money
	}
	switch f.Reason {
	case "busy", "open", "connect":
		return 0
	}
	return j.callCost
}

// panelAnswer is a line of the file of answers.
type panelAnswer struct {
	ID       string          `json:"id"` // of the record, for POST /v1/outcomes
	Request  string          `json:"request"`
	Policy   string          `json:"policy"`
	Expert   string          `json:"expert"`
	Advice   string          `json:"advice"`
	Messages json.RawMessage `json:"messages"` // of the caller, without the advice
	Answer   json.RawMessage `json:"answer"`   // the body of the service
}

// keep appends an answer to the file, if there is one. The file is opened for each answer, so that it can be moved away at any time.
func (p *panel) keep(j *panelJob, rec *decisionlog.Record, body []byte) {
	if p.settings.Answers == "" {
		return
	}
	expertOf, advice := j.actions.Pair(rec.Action)
	line, err := json.Marshal(panelAnswer{
		ID: rec.ID, Request: rec.Request, Policy: rec.Policy, Expert: j.actions.Experts[expertOf].Name, Advice: j.actions.Advice[advice].Name,
		Messages: protocol.ChatMessages(j.request), Answer: body,
	})
	if err == nil {
		err = p.append(append(line, '\n'))
	}
	if err != nil {
		p.api.log.Error("an answer of a panel could not be kept, so it cannot be graded", "request", rec.Request, "error", err.Error())
	}
}

// append appends a line. A line that a kill or a full disk left half written stays a line of its own.
func (p *panel) append(line []byte) error {
	p.file.Lock()
	defer p.file.Unlock()
	f, err := os.OpenFile(string(p.settings.Answers), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if at, err := f.Seek(-1, io.SeekEnd); err == nil { // it is not empty
		last := []byte{0}
		if _, err := f.ReadAt(last, at); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// drain accepts no more requests and waits for the others until ctx ends. Then it cancels the rest.
func (p *panel) drain(ctx context.Context) {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.jobs)
	}
	p.mu.Unlock()
	stop := context.AfterFunc(ctx, p.cancel)
	defer stop()
	p.workers.Wait()
}

// close cancels what is running and closes the ledger.
func (p *panel) close() error {
	p.cancel()
	p.drain(p.ctx)
	if n := p.counts[panelAbandoned].Load(); n > 0 {
		p.api.log.Info("requests of a panel were abandoned, because the server stops", "requests", n)
	}
	return p.ledger.Close()
}

// Drain accepts no more requests for a panel, and waits for those that are answered until ctx ends. Then the rest is
// abandoned.
func (a *API) Drain(ctx context.Context) {
	if a.panel != nil {
		a.panel.drain(ctx)
	}
}

// PanelState counts the requests of a panel since the start, by what became of them.
type PanelState struct {
	Share   float64          `json:"share"`
	Results map[string]int64 `json:"results"`
	Ledger  ledger.State     `json:"ledger"`
}

// Panel returns the state of the panel; nil if there is none.
func (a *API) Panel() *PanelState {
	p := a.panel
	if p == nil {
		return nil
	}
	b := a.acquire()
	defer a.release(b)
	s := &PanelState{Share: b.settings.Panel.Share, Results: map[string]int64{}, Ledger: p.ledger.State()}
	for r := range panelResults {
		s.Results[r.String()] = p.counts[r].Load()
	}
	return s
}
