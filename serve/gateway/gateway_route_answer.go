package gateway

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pipe/pipeline/decisionlog"
	"pipe/serve/gateway/expert"
)

// respondWithoutAnswer sends a skipped answer or an error when no pair is left.
func (q *routed) respondWithoutAnswer() {
	if q.clientGone() {
		q.record.Error = "the client left"
		return
	}
	switch {
	case q.empty != nil:
		q.sendSkipped(q.empty)
		return
	case q.refusal != nil && !q.expertFailed:
		q.sendSkipped(q.refusal)
		return
	}
	if q.last == nil {
		q.last = errors.New("no pair is left")
		if q.calls >= q.settings.Fallback.Tries {
			q.last = fmt.Errorf("no call is left of %d (fallback.tries)", q.settings.Fallback.Tries)
		}
		q.reasons = append(q.reasons, q.last.Error())
	}
	f, wait := expertsFailure(strings.Join(q.reasons, "; "), q.last)
	if full, after := budgetErr(q.last); full != nil && !q.expertFailed { // an expert that failed may work again before
		f, wait = full, retryText(after)
	}
	q.record.Error = f.msg
	q.setHeaders(-1, 0)
	q.fail(f, wait)
}

// sendSkipped sends an answer that was held back, when no expert did better.
func (q *routed) sendSkipped(p *skippedAnswer) {
	q.setHeaders(p.pair, p.before)
	out := q.send(p.expert, p.answer)
	out.fee = p.fee
	q.fillRecord(p.pair, p.expert, &out)
}

// sendAnswer sends the answer of a pair and fills in the record.
func (q *routed) sendAnswer(pair int, e *expert.Expert, answer *expert.Answer, began time.Time, hold *held) {
	took := time.Since(began)
	q.setHeaders(pair, q.before())
	out := q.send(e, answer)
	q.charge(e, &out)
	hold.answered(&out)
	q.fillRecord(pair, e, &out)
	q.turn.answered(q, pair, e, &out, q.added(pair))
	rec := q.record
	rec.Attempts = append(rec.Attempts, decisionlog.Attempt{Action: pair, Status: out.status, Micros: took.Microseconds(), Error: rec.Error})
	total := took
	if answer.Stream != nil {
		total = time.Since(began)
	}
	rec.Stages.Expert += total.Microseconds()
	q.api.metrics.Stage(q.result.Policy.Name, "expert", total)
}

// fillRecord puts the answer of a pair into the record of the decision.
func (q *routed) fillRecord(pair int, e *expert.Expert, out *outcome) {
	rec := q.record
	rec.Executed = pair
	rec.Stages.FirstByte = out.firstByte.Microseconds()
	q.note(out)
	switch {
	case out.err != nil && q.clientGone():
		rec.Error = "the client left"
	case out.err != nil:
		rec.Error = out.err.Error()
		q.warn("an answer was not complete; its client was told", e.Name, out.err)
	case out.refused:
		rec.Error = fmt.Sprintf("the expert refused the request: HTTP %d", out.status)
	}
}

// note puts what an answer used and cost into the record.
func (q *routed) note(out *outcome) {
	rec, u := q.record, out.usage
	rec.Model, rec.TokenParts = out.model, u.Parts.List()
	rec.Usage = decisionlog.Usage{In: u.In, Cached: u.Cached, Out: u.Out, Known: u.Known, CachedKnown: u.Known && u.CachedKnown}
	rec.Fee, rec.FeeKnown, rec.PriceDate = out.fee.Money, out.fee.Known, out.fee.Since
}

// setHeaders sets the headers of the response. pair is -1 if none answered, and before is the number of failed pairs before
// it.
func (q *routed) setHeaders(pair, before int) {
	const digits = 12 // of the digest
	h, p := q.w.Header(), q.result.Policy
	h.Set(headerDecision, q.record.ID)
	h.Set(headerPolicy, headerValue(p.Name)+"@"+p.Digest[:min(digits, len(p.Digest))])
	if q.record.AcceptedKnown {
		h.Set(headerAccepted, strconv.FormatBool(q.record.Accepted))
	}
	if q.result.Fixed() {
		h.Set(headerWithoutText, headerValue(q.settings.WithoutText))
	}
	q.staged.setHeader(h)
	if pair < 0 {
		return
	}
	h.Set(headerExpert, headerValue(q.expertOf(pair)))
	h.Set(headerAdvice, headerValue(q.adviceOf(pair)))
	if cost := q.record.ExpectedCost; cost != nil {
		if q.staged != nil { // up to the end, by the first decision
			pair = q.record.Action
		}
		h.Set(headerCost, strconv.FormatFloat(float64(cost[pair]), 'g', 6, 64))
	}
	if before > 0 {
		h.Set(headerFallbacks, strconv.Itoa(before))
	}
}
