package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/access"
	"pipe/serve/decision"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
)

// routed is a request that a policy decides on.
type routed struct {
	*chat
	result   *decision.Result
	record   *decisionlog.Record
	actions  *costs.Actions
	question string // what advice is fetched for
	fetched  map[int]fetched
	tried    int             // calls of experts
	failed   map[string]bool // experts that failed
	said     []string        // why
	last     error
	refusal  *passedOver // the last refusal that another expert may not share; nil: none
	empty    *passedOver // the last answer without content; nil: none
	broken   bool        // an expert failed otherwise
}

// passedOver is an answer in whose place another expert is asked.
type passedOver struct {
	pair   int
	before int // pairs that failed before
	expert *expert.Expert
	answer *expert.Answer
	fee    expert.Fee
}

// fetched is advice that was fetched for this request.
type fetched struct {
	message *chatjson.Addition
	err     error
}

// route answers a request by what a policy decides.
func (c *chat) route(name string) {
	a := c.api
	conversation, err := decision.ReadMessages(c.request.Messages)
	if c.request.Messages == nil {
		err = &decision.PromptError{Reason: "are missing"}
	}
	var without []policy.Part
	if err == nil {
		without, err = c.unavailable(name)
	}
	if err != nil {
		c.undecided(err)
		return
	}
	result, err := a.decider.Decide(c.r.Context(), decision.Request{
		Policy: name, Conversation: conversation, Prices: policy.PriceChange{Without: without}, Source: decision.SourceChat,
		ID: c.r.Header.Get("X-Request-Id"), Client: access.CallerOf(c.r.Context()).Name, User: c.request.User, Decode: time.Since(c.began), Unseen: c.settings.unseen(),
	})
	if err != nil {
		c.undecided(err)
		return
	}
	q := &routed{
		chat: c, result: result, record: result.Records[0], actions: result.Policy.Info().Actions,
		fetched: make(map[int]fetched), failed: make(map[string]bool),
	}
	q.record.Executed = -1
	q.question, _ = conversation.Text(a.decider.Settings().Prompt) // "" for images alone: nothing is found then
	defer q.finish()
	q.execute()
}

// finish logs the decision.
func (q *routed) finish() {
	if err := q.result.Done(); err != nil {
		q.api.log.LogAttrs(q.r.Context(), slog.LevelError, "a decision could not be logged", q.id(), slog.String("error", err.Error()))
	}
}

// undecided answers a request on which no decision was made.
func (c *chat) undecided(err error) {
	if c.left() {
		return
	}
	f, wait := undecided(c.request.Model, err)
	if f.status >= 500 {
		c.api.log.LogAttrs(c.r.Context(), slog.LevelError, "no decision", c.id(), slog.String("error", err.Error()))
	}
	retryAfter(c.w.Header(), wait)
	writeError(c.w, f)
}

// errNoExpert means that no expert of a policy can be asked at present.
var errNoExpert = &decision.PriceError{Err: errors.New("the circuit breakers of all experts are open")}

// unavailable lists what the policy must not choose: experts that are not configured or whose breaker is open, and advice
// that is not configured.
func (c *chat) unavailable(name string) (without []policy.Part, err error) {
	p, err := c.api.decider.Policies().Acquire(name)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	if err := c.usable(p); err != nil {
		return nil, err
	}
	actions := p.Info().Actions
	for _, e := range actions.Experts {
		if known := c.experts[e.Name]; known == nil || known.State() == expert.Open {
			without = append(without, policy.Expert(e.Name))
		}
	}
	if len(without) == len(actions.Experts) {
		return nil, errNoExpert
	}
	for _, v := range actions.Advice[1:] {
		if c.advice[v.Name] == nil {
			without = append(without, policy.Advice(v.Name))
		}
	}
	return without, nil
}

// execute tries the pairs, the chosen one first, until one answers.
func (q *routed) execute() {
	limit := q.settings.Fallback
	ctx, stop, cancel := within(q.r.Context(), limit.Deadline)
	defer cancel(nil)
	ranked := q.result.Ranked(0)
	for i, pair := range ranked {
		if q.tried >= limit.Tries || ctx.Err() != nil {
			break
		}
		e := q.experts[q.expertOf(pair)]
		if q.failed[q.expertOf(pair)] {
			continue
		}
		if e == nil { // a canary may name experts that the policy does not
			q.miss(pair, 0, 0, errors.New("expert "+q.expertOf(pair)+" is not configured"))
			continue
		}
		message, err := q.advise(ctx, pair)
		if err != nil {
			if ctx.Err() == nil {
				q.api.metrics.Fallback(q.expertOf(pair), "advice")
				q.miss(pair, 0, 0, err)
			}
			continue
		}
		call := e.CallLast
		if q.another(e, ranked[i+1:]) {
			call = e.Call
		}
		began := time.Now()
		answer, err := call(ctx, q.request, message, q.headers)
		took := time.Since(began)
		if err == nil && answer.Own == "" {
			stop()
			q.answered(pair, e, answer, began)
			return
		}
		if err == nil {
			q.passOver(&passedOver{pair: pair, before: len(q.record.Attempts), expert: e, answer: answer}, took)
			continue
		}
		charged := q.chargeFailed(e, err)
		q.failed[e.Name] = true
		q.count(pair, err, took)
		q.record.Attempts[len(q.record.Attempts)-1].Error += charged
	}
	stop()
	if ctx.Err() != nil && !left(q.r.Context()) {
		q.last, q.broken = errDeadline, true
		q.said = append(q.said, fmt.Sprintf("not within %v", limit.Deadline))
	}
	q.unserved()
}

// another reports whether one of the pairs could answer if an expert does not.
func (q *routed) another(not *expert.Expert, pairs []int) bool {
	return q.tried+1 < q.settings.Fallback.Tries && slices.ContainsFunc(pairs, func(pair int) bool {
		_, k := q.actions.Pair(pair)
		e := q.experts[q.expertOf(pair)]
		return e != nil && e != not && !q.failed[e.Name] && e.State() != expert.Open && q.fetched[k].err == nil && (k == 0 || q.advice[q.adviceOf(pair)] != nil)
	})
}

func (q *routed) expertOf(pair int) string {
	j, _ := q.actions.Pair(pair)
	return q.actions.Experts[j].Name
}

func (q *routed) adviceOf(pair int) string {
	_, k := q.actions.Pair(pair)
	return q.actions.Advice[k].Name
}

// advise returns the message with the advice of a pair, which is fetched once.
func (q *routed) advise(ctx context.Context, pair int) (*chatjson.Addition, error) {
	_, k := q.actions.Pair(pair)
	if k == 0 {
		return nil, nil
	}
	if f, ok := q.fetched[k]; ok {
		return f.message, f.err
	}
	a := q.advice[q.adviceOf(pair)]
	if a == nil {
		return nil, fmt.Errorf("advice %s is not configured", q.adviceOf(pair))
	}
	began := time.Now()
	message, _, err := a.Fetch(ctx, q.question)
	took := time.Since(began)
	q.record.Stages.Advise += took.Microseconds()
	q.api.metrics.Stage(q.result.Policy.Name, "advise", took)
	q.fetched[k] = fetched{message, err}
	return message, err
}

// passOver notes an answer in whose place another expert is asked. One without content is charged now, whoever answers later.
func (q *routed) passOver(p *passedOver, took time.Duration) {
	q.tried++
	q.failed[p.expert.Name] = true
	reason := fmt.Sprintf("status_%d", p.answer.Status)
	if p.answer.Empty {
		out := outcome{model: p.answer.Model, usage: p.answer.Usage, estimate: int64(len(p.answer.Body) / bytesPerToken)}
		q.charge(p.expert, &out)
		reason, p.fee, q.empty = "empty", out.fee, p
	} else {
		q.refusal = p
	}
	q.api.metrics.Fallback(p.expert.Name, reason)
	q.miss(p.pair, p.answer.Status, took, fmt.Errorf("%s: HTTP %d, %s", p.expert.Name, p.answer.Status, p.answer.Own))
}

// count notes a call that failed.
func (q *routed) count(pair int, err error, took time.Duration) {
	q.broken = true
	var fault *expert.Failure
	status := 0
	if errors.As(err, &fault) {
		status = fault.Status
		q.api.metrics.Fallback(fault.Expert, fault.Label())
	} else if errors.Is(err, errDeadline) {
		q.api.metrics.Fallback(q.expertOf(pair), "deadline")
	}
	if fault == nil || fault.Reason != "busy" && fault.Reason != "open" {
		q.tried++ // a call was made
	}
	q.miss(pair, status, took, err)
}

// miss notes a pair that did not answer.
func (q *routed) miss(pair, status int, took time.Duration, err error) {
	q.last = err
	q.said = append(q.said, err.Error())
	q.record.Attempts = append(q.record.Attempts, decisionlog.Attempt{Action: pair, Status: status, Micros: took.Microseconds(), Error: err.Error()})
	q.record.Stages.Expert += took.Microseconds()
	if !left(q.r.Context()) {
		q.warn("a pair of expert and advice failed", q.expertOf(pair), err)
	}
}

// unserved answers a request that no pair answered.
func (q *routed) unserved() {
	if q.left() {
		q.record.Error = "the client left"
		return
	}
	switch {
	case q.empty != nil:
		q.passOn(q.empty)
		return
	case q.refusal != nil && !q.broken:
		q.passOn(q.refusal)
		return
	}
	if q.last == nil {
		q.last = errors.New("no pair is left")
	}
	f, wait := unanswered(strings.Join(q.said, "; "), q.last)
	q.record.Error = f.msg
	q.setHeaders(-1, 0)
	q.fail(f, wait)
}

// passOn answers with what was passed over, where no expert did better.
func (q *routed) passOn(p *passedOver) {
	q.setHeaders(p.pair, p.before)
	out := q.send(p.expert, p.answer)
	out.fee = p.fee
	q.keep(p.pair, p.expert, &out)
}

// answered passes an answer on and fills in the record.
func (q *routed) answered(pair int, e *expert.Expert, answer *expert.Answer, began time.Time) {
	took := time.Since(began)
	q.setHeaders(pair, len(q.record.Attempts))
	out := q.send(e, answer)
	q.charge(e, &out)
	q.keep(pair, e, &out)
	rec := q.record
	rec.Attempts = append(rec.Attempts, decisionlog.Attempt{Action: pair, Status: out.status, Micros: took.Microseconds(), Error: rec.Error})
	total := took
	if answer.Stream != nil {
		total = time.Since(began)
	}
	rec.Stages.Expert += total.Microseconds()
	q.api.metrics.Stage(q.result.Policy.Name, "expert", total)
}

// keep puts what a pair answered into the record.
func (q *routed) keep(pair int, e *expert.Expert, out *outcome) {
	rec := q.record
	rec.Executed, rec.Model = pair, out.model
	rec.Stages.FirstByte = out.firstByte.Microseconds()
	rec.Usage = decisionlog.Usage{In: out.usage.In, Cached: out.usage.Cached, Out: out.usage.Out, Known: out.usage.Known}
	rec.Fee, rec.FeeKnown, rec.PriceDate = out.fee.Money, out.fee.Known, out.fee.Since
	switch {
	case out.err != nil && q.left():
		rec.Error = "the client left"
	case out.err != nil:
		rec.Error = out.err.Error()
		q.warn("an answer was not complete; its client was told", e.Name, out.err)
	case out.refused:
		rec.Error = fmt.Sprintf("the expert refused the request: HTTP %d", out.status)
	}
}

// setHeaders sets the headers of an answer; pair is -1 if none answered, and before is how many failed before it.
func (q *routed) setHeaders(pair, before int) {
	const digits = 12 // of the digest
	h, p := q.w.Header(), q.result.Policy
	h.Set(headerDecision, q.record.ID)
	h.Set(headerPolicy, headerValue(p.Name)+"@"+p.Digest[:min(digits, len(p.Digest))])
	if q.result.Fixed() {
		h.Set(headerWithoutText, headerValue(q.settings.WithoutText))
	}
	if pair < 0 {
		return
	}
	h.Set(headerExpert, headerValue(q.expertOf(pair)))
	h.Set(headerAdvice, headerValue(q.adviceOf(pair)))
	if cost := q.record.ExpectedCost; cost != nil {
		h.Set(headerCost, strconv.FormatFloat(float64(cost[pair]), 'g', 6, 64))
	}
	if before > 0 {
		h.Set(headerFallbacks, strconv.Itoa(before))
	}
}
