package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"pipe/pipeline/decisionlog"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
)

// ask is a call of an expert.
type ask struct {
	pair    int
	expert  *expert.Expert
	message *chatjson.Addition // with the advice
	hold    *held              // of the budgets
	last    bool               // no other pair could answer
	hedge   bool               // it is asked while another one is still waited for
	whole   bool               // the answer is read whole, though the caller asked for a stream
}

// asked is what came of a call.
type asked struct {
	ask
	answer *expert.Answer
	span   *streamSpan // of a stream; nil: none
	err    error
	began  time.Time
	took   time.Duration

	panicked error // of a call that ended in a panic; nil: it did not
}

// isGood reports whether the answer is passed on.
func (a *asked) isGood() bool {
	return a.panicked == nil && a.err == nil && a.answer.OtherMayAnswer == ""
}

// orPanic returns the result, or goes on with the panic of the call in the goroutine of the request, which the server recovers.
func (a asked) orPanic() asked {
	if a.panicked != nil {
		panic(a.panicked)
	}
	return a
}

// close closes the stream of an answer that is not passed on.
func (a *asked) close() {
	if a.answer != nil && a.answer.Stream != nil {
		a.answer.Stream.Close()
	}
}

// call makes a call.
func (q *routed) call(ctx context.Context, k ask) asked {
	call := k.expert.Call
	if k.last {
		call = k.expert.CallLast
	}
	r := asked{ask: k, began: time.Now()}
	request := q.requestFor(k.expert)
	if k.whole {
		if request, r.err = request.Whole(); r.err != nil { // the caller's request was read before
			return r
		}
	}
	r.answer, r.span, r.err = q.spanned(call, k.expert, q.adviceOf(k.pair))(ctx, request, k.message, q.headers)
	r.took = time.Since(r.began)
	return r
}

// running is a call that runs.
type running struct {
	result chan asked
	cancel context.CancelCauseFunc // ends it; the context of a call that is passed on ends with the request
}

// start makes a call in a goroutine, and keeps a panic for the goroutine of the request: it would end the whole server here.
func (q *routed) start(ctx context.Context, k ask) running {
	inner, cancel := context.WithCancelCause(ctx)
	r := running{make(chan asked, 1), cancel}
	go func() {
		result := asked{ask: k}
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				result.panicked = http.ErrAbortHandler
			default:
				result.panicked = fmt.Errorf("%v, in a call of the expert %s\n%s", p, k.expert.Name, debug.Stack())
			}
			r.result <- result
		}()
		result = q.call(inner, k)
	}()
	return r
}

// errHedged is the cause with which a call is cancelled when another one has answered first.
var errHedged = errors.New("another pair answered first")

// askOrHedge makes a call. If it takes long, and the settings allow it, one of the next pairs is asked too. The results are in
// the order in which they are to be looked at. At most the last one is passed on.
func (q *routed) askOrHedge(ctx context.Context, k ask, next []int) []asked {
	after, ok := q.hedgeAfter(k)
	if !ok {
		return []asked{q.call(ctx, k)}
	}
	first := q.start(ctx, k)
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case r := <-first.result:
		return []asked{r.orPanic()}
	case <-timer.C:
	}
	other, ok := q.hedgeOf(ctx, k, next, first)
	if !ok {
		return []asked{(<-first.result).orPanic()}
	}
	results := q.race(first, q.start(ctx, other))
	result := "failed"
	if won := results[len(results)-1]; won.isGood() {
		result = map[bool]string{true: "won", false: "lost"}[won.hedge]
	}
	q.api.metrics.Hedge(k.expert.Name, result)
	return results
}

// race waits for the first good answer of two calls, and cancels the other call. If one of them panics, so does race, after both
// have ended.
func (q *routed) race(first, second running) (results []asked) {
	for len(results) < 2 {
		var r asked
		other := first
		select {
		case r = <-first.result:
			other = second
		case r = <-second.result:
		}
		if len(results) == 0 && (r.isGood() || r.panicked != nil) {
			other.cancel(errHedged)
			loser := <-other.result
			if r.panicked != nil {
				loser.close()
			} else if loser.panicked != nil {
				r.close()
			}
			q.addLoser(loser.orPanic(), r.orPanic().pair)
		}
		results = append(results, r.orPanic())
		if r.isGood() {
			break
		}
	}
	return results
}

// hedgeAfter returns after which time another pair is asked too; ok is false if none is: because nothing is known about the
// times of the expert, or a tool was called, whose result belongs to the model that called it.
func (q *routed) hedgeAfter(k ask) (_ time.Duration, ok bool) {
	h := q.settings.Hedge
	if h == nil || len(q.record.Attempts) > 0 || k.last {
		return 0, false
	}
	q.api.hedges.earn(h.Share)
	if q.calls+2 > q.settings.Fallback.Tries || q.request.ToolLoopOpen() {
		return 0, false
	}
	return k.expert.Patience().Quantile(q.request.Stream && !k.whole, q.request.Tokens(), float64(h.After))
}

// hedgeOf returns the best of the next pairs whose expert is another one and works, if the share has room for it.
func (q *routed) hedgeOf(ctx context.Context, k ask, next []int, first running) (_ ask, ok bool) {
	for i, pair := range next {
		e := q.experts[q.expertOf(pair)]
		if e == nil || e == k.expert || e.State() != expert.Closed {
			continue
		}
		if !q.api.hedges.spend() {
			q.api.metrics.Hedge(k.expert.Name, "share")
			return ask{}, false
		}
		message, err := q.fetchUnless(ctx, pair, first)
		answered := len(first.result) > 0
		var hold *held
		if err == nil && !answered {
			hold, err = q.budgets.holdPair(q, pair, e, message)
		}
		if answered || err != nil { // execute finds an error of the advice too, if it comes to this pair; or a budget has no room for both
			q.api.hedges.earn(1)
			if answered {
				return ask{}, false
			}
			continue
		}
		q.calls++ // the first call; the second one counts when it is looked at
		last := !q.hasFallback(e, next[i+1:])
		q.calls--
		return ask{pair: pair, expert: e, message: message, hold: hold, last: last, hedge: true, whole: k.whole}, true
	}
	return ask{}, false
}

// fetchUnless fetches the advice of a pair, and stops when a call has a result.
func (q *routed) fetchUnless(ctx context.Context, pair int, first running) (*chatjson.Addition, error) {
	inner, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case r := <-first.result:
			first.result <- r
			cancel(errHedged)
		case <-inner.Done():
		}
	}()
	message, err := q.fetchAdvice(inner, pair)
	cancel(nil)
	<-watched
	if context.Cause(inner) == errHedged && err != nil {
		_, k := q.actions.Pair(pair)
		delete(q.fetched, k) // it has not failed
	}
	return message, err
}

// addLoser charges and records a call that was cancelled because another pair answered first.
func (q *routed) addLoser(r asked, winner int) {
	q.calls++
	q.losers++
	charged := q.chargeLoser(r)
	what := "cancelled"
	if r.hedge {
		what = "a second call, cancelled"
	}
	text := fmt.Sprintf("%s%s, because %s answered first%s", decisionlog.HedgePrefix, what, q.actions.Name(winner), charged)
	q.record.Attempts = append(q.record.Attempts, decisionlog.Attempt{Action: r.pair, Micros: r.took.Microseconds(), Error: text})
	q.record.Stages.Expert += r.took.Microseconds()
}

// chargeLoser charges the caller for a call that was cancelled, as far as its usage is known, and else for an estimate. It
// returns a text about it.
func (q *routed) chargeLoser(r asked) string {
	switch {
	case errors.Is(r.err, errHedged):
		r.hold.failed(r.expert, r.err)
		q.chargeEstimate(r.expert, "", 0)
		return "; charged: an estimate of its prompt"
	case r.err != nil:
		r.hold.failed(r.expert, r.err)
		return q.chargeFailed(r.expert, r.err)
	}
	out := outcome{model: r.answer.Model, usage: r.answer.Usage, estimate: int64(len(r.answer.Body) / bytesPerToken), refused: r.answer.Status != http.StatusOK}
	if s := r.answer.Stream; s != nil {
		s.Close()
		end := s.End()
		out.model, out.usage, out.estimate = end.Model, end.Usage, int64(end.Chunks)
	}
	out.err = errHedged
	r.span.end(q.r.Context(), r.expert, &out)
	q.charge(r.expert, &out)
	r.hold.answered(&out)
	return "; its answer was charged"
}

// hedges bounds the share of requests for which a second pair is asked.
type hedges struct {
	mu    sync.Mutex
	saved float64 // second calls that may be made
}

// mostSaved bounds how many second calls can follow each other after a quiet time.
const mostSaved = 10

// earn counts a request.
func (h *hedges) earn(share float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.saved = min(h.saved+share, mostSaved)
}

// spend reports whether a second call may be made.
func (h *hedges) spend() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	const rounding = 1e-9
	if h.saved < 1-rounding {
		return false
	}
	h.saved--
	return true
}
