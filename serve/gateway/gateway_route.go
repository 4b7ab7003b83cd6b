package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/access"
	"pipe/serve/decision"
	"pipe/serve/gateway/capability"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/wishes"
	"pipe/serve/telemetry"
)

// routed is a chat request for a policy, and the state of its execution.
type routed struct {
	*chat
	result        *decision.Result
	record        *decisionlog.Record
	actions       *costs.Actions
	question      string // the text that advice is fetched for
	fetched       map[int]fetchedAdvice
	calls         int             // of experts, for this request
	failedExperts map[string]bool // experts that are not called again for this request
	reasons       []string        // why pairs did not answer, in words
	last          error
	refusal       *skippedAnswer // the last refusal that may be specific to its expert; nil: none
	empty         *skippedAnswer // the last answer without content; nil: none
	expertFailed  bool           // an expert failed in another way
	losers        int            // attempts that were cancelled, because another pair answered first
	staged        *staged        // the stages of a cascade; nil: one pair answers

	runs    []float64 // how often a cascade is expected to ask each pair, by the first one, see executions; nil: the first one alone
	counted bool      // that is known
}

// skippedAnswer is an answer that is held back while another expert is tried. It is sent if none does better.
type skippedAnswer struct {
	pair   int
	before int // pairs that failed before
	hold   *held
	expert *expert.Expert
	answer *expert.Answer
	fee    expert.Fee
	stream []byte // the answer as the stream that the caller asked for; nil: the caller asked for none
}

// fetchedAdvice is the result of fetching advice for this request.
type fetchedAdvice struct {
	message *chatjson.Addition
	err     error
}

// route lets a policy decide on a request and executes the decision.
func (c *chat) route(name string) {
	a := c.api
	var err error
	c.conversation, err = conversationOf(c.request)
	var without []policy.Part
	if err == nil {
		c.turn = c.beginTurn()
		without, err = c.unavailable(name)
	}
	if err != nil {
		c.failDecision(err)
		return
	}
	if c.settings.Latency != nil { // else the header says nothing to a policy that decides once
		if f := c.readDeadline(); f != nil {
			c.fail(f, "")
			return
		}
	}
	if c.budgets, without, err = c.budgeted(name, without); err != nil {
		c.spendingFailed(err)
		return
	}
	defer c.budgets.end()
	result, err := a.decider.Decide(c.r.Context(), decision.Request{
		Policy: name, Conversation: c.conversation, Prices: c.wishes.Change(without), NoExplore: c.wishes.NoExplore, Source: decision.SourceChat,
		ID: c.r.Header.Get("X-Request-Id"), Client: access.CallerOf(c.r.Context()).Name, User: c.request.User, Decode: time.Since(c.began), FixedPair: c.settings.fixedPair(), Tags: c.tags(),
		Surcharge: addUp(c.turn.surcharge(), c.lateness(), c.budgets.surcharge()), Without: c.withoutPeople,
	})
	if err != nil {
		c.failDecision(c.wishes.Explain(err))
		return
	}
	q := &routed{
		chat: c, result: result, record: result.Records[0], actions: result.Policy.Info().Actions,
		fetched: make(map[int]fetchedAdvice), failedExperts: make(map[string]bool),
	}
	q.record.Executed, q.record.Masked = -1, c.lacking.Text()
	c.turn.decided(q)
	q.question, _ = c.conversation.Text(a.decider.Settings().Prompt) // "" for images alone: nothing is found then
	defer q.finish()
	c.budgets.decided(q)
	if q.staged = q.cascade(); q.staged != nil {
		q.staged.run()
	} else {
		q.execute()
	}
	q.offerPanel()
}

// finish logs the decision.
func (q *routed) finish() {
	if err := q.result.Done(); err != nil {
		q.api.log.LogAttrs(q.r.Context(), slog.LevelError, "a decision could not be logged", q.id(), slog.String("error", err.Error()))
	}
}

// failDecision answers a request on which no decision could be made.
func (c *chat) failDecision(err error) {
	if c.clientGone() {
		return
	}
	f, wait := decisionFailure(c.request.Model, err)
	if f.param == "messages" && c.request.Format == protocol.Responses {
		f.param = "input"
	}
	if f.status >= 500 {
		c.api.log.LogAttrs(c.r.Context(), slog.LevelError, "no decision", c.id(), slog.String("error", err.Error()))
	}
	if wait > 0 {
		access.SetRetryAfter(c.w.Header(), wait)
	}
	c.fail(f, "")
}

// unavailable lists what the policy must not choose: experts that are not configured or whose circuit breaker is open, and
// advice that is not configured.
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
	var waiting []policy.Part // experts that are left out because of their circuit breakers
	for _, e := range actions.Experts {
		known := c.experts[e.Name]
		lack, can := c.lackOf(e.Name)
		switch {
		case known == nil && c.settings.People.Has(e.Name): // the decider knows whether somebody is there
			continue
		case known == nil:
		case !can:
			c.lacking.Add(e.Name, lack)
			c.api.metrics.Masked(e.Name, lack.Reason)
		case known.State() == expert.Open:
			waiting = append(waiting, policy.Expert(e.Name))
			continue
		default:
			continue
		}
		without = append(without, policy.Expert(e.Name))
	}
	if len(without)+len(waiting) == len(actions.Experts) {
		if waiting == nil && c.lacking.Any() {
			return nil, &capability.Error{Lacking: c.lacking, Policy: p.Name}
		}
		return nil, wishes.ErrNoExpert
	}
	for _, v := range actions.Advice[1:] {
		if c.advice[v.Name] == nil {
			without = append(without, policy.Advice(v.Name))
		}
	}
	without, err = c.wishes.Exclude(actions, c.excludeFields(actions, without, waiting), waiting)
	if err != nil {
		return nil, err
	}
	return c.turn.hold(actions, without), nil
}

// execute answers by one pair.
func (q *routed) execute() {
	ctx, stop, cancel := withDeadline(q.r.Context(), q.settings.Fallback.Deadline)
	defer cancel(nil)
	g, instead := q.guard()
	accepted, _ := q.result.Accepted(0)
	q.result.Settle(0, accepted) // also where no policy decided, and where a cascade was not played
	switch {
	case g == nil:
		q.try(ctx, stop, append(q.result.Ranked(0), q.turn.others(q.result)...))
	case accepted:
		q.try(ctx, stop, q.withInstead([]int{q.record.Action}, instead))
	case instead < 0:
		q.abstain()
	default:
		q.try(ctx, stop, q.withInstead(nil, instead))
	}
}

// try tries pairs in their order, until one answers. With a guarantee, only the first one is accepted. People who take over are given
// the request also when calls and time are used up, since a ticket needs neither.
func (q *routed) try(ctx context.Context, stop func() bool, ranked []int) {
	_, instead := q.guard()
	for i, pair := range ranked {
		people := q.settings.People.Has(q.expertOf(pair))
		if usedUp := q.calls >= q.settings.Fallback.Tries || ctx.Err() != nil; usedUp && (!people || pair != instead) || clientGone(q.r.Context()) {
			break
		}
		if i > 0 {
			q.result.Settle(0, false)
		}
		if people {
			if q.giveToPeople(pair) {
				return
			}
			continue
		}
		k, ok, refused := q.prepare(ctx, pair, i)
		if refused {
			return
		}
		if !ok {
			continue
		}
		k.last = !q.hasFallback(k.expert, ranked[i+1:])
		for _, r := range q.askOrHedge(ctx, k, ranked[i+1:]) {
			if r.isGood() {
				stop()
				if r.pair != pair { // a hedge
					q.result.Settle(0, false)
				}
				if q.staged != nil {
					q.staged.pass(r, pair)
					return
				}
				q.span = r.span
				q.sendAnswer(r.pair, r.expert, r.answer, r.began, r.hold)
				return
			}
			q.skip(r)
		}
	}
	stop()
	q.noneAnswered(ctx)
}

// noneAnswered answers a request when no pair is left, or when ctx, which has the deadline, has ended.
func (q *routed) noneAnswered(ctx context.Context) {
	if ctx.Err() != nil && !clientGone(q.r.Context()) {
		q.last, q.expertFailed = errDeadline, true
		q.reasons = append(q.reasons, fmt.Sprintf("not within %v", q.settings.Fallback.Deadline))
	}
	q.respondWithoutAnswer()
}

// prepare does what a call of a pair needs, and notes it if that fails. at is the place of the pair in the order. refused: a budget
// refuses the request, which was answered.
func (q *routed) prepare(ctx context.Context, pair, at int) (k ask, ok, refused bool) {
	e := q.experts[q.expertOf(pair)]
	if q.failedExperts[q.expertOf(pair)] {
		return k, false, false
	}
	if e == nil { // a canary names experts that the policy does not
		q.addFailure(pair, 0, 0, errors.New("expert "+q.expertOf(pair)+" is not configured"))
		return k, false, false
	}
	message, err := q.fetchAdvice(ctx, pair)
	if err != nil {
		if ctx.Err() == nil {
			q.api.metrics.Fallback(q.expertOf(pair), "advice")
			q.addFailure(pair, 0, 0, err)
		}
		return k, false, false
	}
	hold, err := q.budgets.holdPair(q, pair, e, message)
	if err != nil {
		return k, false, q.fullBudget(pair, at, err)
	}
	return ask{pair: pair, expert: e, message: message, hold: hold}, true, false
}

// skip holds an answer back or records a failure, so that another expert is tried.
func (q *routed) skip(r asked) {
	if r.err == nil {
		q.skipAnswer(&skippedAnswer{pair: r.pair, before: q.before(), expert: r.expert, answer: r.answer, hold: r.hold}, r.took)
		return
	}
	r.hold.failed(r.expert, r.err)
	charged := q.chargeFailed(r.expert, r.err)
	q.failedExperts[r.expert.Name] = true
	q.addFailedCall(r.pair, r.err, r.took)
	q.record.Attempts[len(q.record.Attempts)-1].Error += charged
}

// before is the number of pairs that failed so far.
func (q *routed) before() int { return len(q.record.Attempts) - q.losers - len(q.record.Cascade) }

// hasFallback reports whether one of the pairs could still answer if an expert fails.
func (q *routed) hasFallback(not *expert.Expert, pairs []int) bool {
	return q.calls+1 < q.settings.Fallback.Tries && slices.ContainsFunc(pairs, func(pair int) bool {
		_, k := q.actions.Pair(pair)
		e := q.experts[q.expertOf(pair)]
		return e != nil && e != not && !q.failedExperts[e.Name] && e.State() != expert.Open && q.fetched[k].err == nil && (k == 0 || q.advice[q.adviceOf(pair)] != nil)
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

// fetchAdvice returns the message with the advice of a pair. Each advice is fetched at most once per request.
func (q *routed) fetchAdvice(ctx context.Context, pair int) (*chatjson.Addition, error) {
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
	ctx, span := telemetry.Start(ctx, "advise")
	message, found, err := a.Fetch(ctx, q.question)
	span.Set("advice", a.Name)
	span.Set("passages", found)
	span.End(faultOf(err))
	took := time.Since(began)
	q.record.Stages.Advise += took.Microseconds()
	q.api.metrics.Stage(q.result.Policy.Name, "advise", took)
	q.fetched[k] = fetchedAdvice{message, err}
	return message, err
}

// skipAnswer holds an answer back while another expert is tried. An answer without content is charged now, because its
// service has done the work.
func (q *routed) skipAnswer(p *skippedAnswer, took time.Duration) {
	q.calls++
	q.failedExperts[p.expert.Name] = !p.answer.AdviceRefused
	reason := fmt.Sprintf("status_%d", p.answer.Status)
	if p.answer.Empty {
		out := outcome{model: p.answer.Model, usage: p.answer.Usage, estimate: int64(len(p.answer.Body) / bytesPerToken)}
		q.charge(p.expert, &out)
		p.hold.answered(&out)
		reason, p.fee, q.empty = "empty", out.fee, p
	} else {
		p.hold.answered(&outcome{refused: true})
		q.refusal = p
	}
	q.api.metrics.Fallback(p.expert.Name, reason)
	why := cmp.Or(p.answer.OtherMayAnswer, "a refusal of the caller's making") // while an answer of a cascade is at hand
	q.addFailure(p.pair, p.answer.Status, took, fmt.Errorf("%s: HTTP %d, %s", p.expert.Name, p.answer.Status, why))
}

// addFailedCall records a call that failed.
func (q *routed) addFailedCall(pair int, err error, took time.Duration) {
	q.expertFailed = true
	var fault *expert.Failure
	status := 0
	if errors.As(err, &fault) {
		status = fault.Status
		q.api.metrics.Fallback(fault.Expert, fault.Label())
	} else if errors.Is(err, errDeadline) {
		q.api.metrics.Fallback(q.expertOf(pair), "deadline")
	}
	if fault == nil || fault.Reason != "busy" && fault.Reason != "open" {
		q.calls++ // a call was made
	}
	q.addFailure(pair, status, took, err)
}

// addFailure records a pair that did not answer.
func (q *routed) addFailure(pair, status int, took time.Duration, err error) {
	q.last = err
	q.reasons = append(q.reasons, err.Error())
	q.record.Attempts = append(q.record.Attempts, decisionlog.Attempt{Action: pair, Status: status, Micros: took.Microseconds(), Error: err.Error()})
	q.record.Stages.Expert += took.Microseconds()
	if !clientGone(q.r.Context()) {
		q.warn("a pair of expert and advice failed", q.expertOf(pair), err)
	}
}
