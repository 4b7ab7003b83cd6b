package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"pipe/costs/observe"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/session"
	"pipe/serve/gateway/stages"
	"pipe/serve/policies"
)

// headerStages names the pairs that answered for a cascade, in order.
const headerStages = "X-Pipe-Stages"

// staged is a request that a cascade answers. nil: it is none.
type staged struct {
	*routed
	play    *stages.Play
	kept    map[int]*skippedAnswer // answers that were read whole, by pair
	names   []string               // of the pairs that answered
	stop    func() bool            // of the deadline
	refused bool                   // a budget refused the request, which was answered
	at      *policy.Prices         // of the latest decision
	prices  []*policy.Prices       // of the decisions that chose the stages, and of the one that accepted an answer, if one did
}

// inStages reports whether a policy answers the request in stages: it is a cascade, and not for one pair alone.
func (c *chat) inStages(p *policies.Policy) bool {
	return p.Cascade() != nil && stages.OneShot(c.request) == "" && c.api.decider.Sees(c.conversation, p)
}

// streams says which pairs of a policy would be asked for a stream: of a cascade those after which nothing is decided.
func (c *chat) streams(p *policies.Policy) func(pair int) bool {
	if !c.request.Stream || !c.inStages(p) {
		return func(int) bool { return c.request.Stream }
	}
	return func(pair int) bool { return stages.Last(p.Cascade(), c.executed, pair) }
}

// cascade begins the play of a cascade; nil where one pair answers: the policy is no cascade, or the request is not answered in
// stages.
func (q *routed) cascade() *staged {
	info := q.result.Policy.Cascade()
	if info == nil {
		return nil
	}
	if q.result.Fixed() || stages.OneShot(q.request) != "" {
		q.api.metrics.Cascade(q.result.Policy.Name, "one_shot", 0)
		return nil
	}
	s := &staged{routed: q, kept: make(map[int]*skippedAnswer), at: q.result.Prices}
	s.play = stages.New(stages.Settings{
		Info: info, Next: s.next, Features: q.record.Features, Live: q.request.Stream && info.Guarantee == nil, Ask: s.ask,
		Can: func(pair int) bool { return q.result.Prices.Available[pair] && q.canAsk(pair) },
	})
	return s
}

// canAsk reports whether a pair could be called now: its expert and advice work, and budgets have room.
func (q *routed) canAsk(pair int) bool {
	_, k := q.actions.Pair(pair)
	e := q.experts[q.expertOf(pair)]
	if e == nil || q.failedExperts[e.Name] || e.State() == expert.Open || q.fetched[k].err != nil {
		return false
	}
	return !q.budgets.isFull(e)
}

// next decides in a state at the prices of now: those of the request, and what switches, lateness, budgets and people add at this time.
func (s *staged) next(ctx context.Context, can []bool, rows cascade.Rows) (*cascade.Decisions, error) {
	s.executed, s.spent = rows.Executed, time.Since(s.began)
	at, err := s.result.PricesNow(rows.Executed)
	if err != nil {
		return nil, err
	}
	now := *at
	now.Available = make([]bool, len(can))
	for i := range can {
		now.Available[i] = can[i] && at.Available[i]
	}
	s.at = &now
	return s.result.Policy.Next(ctx, []*policy.Prices{&now}, rows)
}

// run answers the request.
func (s *staged) run() {
	ctx, stop, cancel := withDeadline(s.r.Context(), s.settings.Fallback.Deadline)
	defer cancel(nil)
	s.stop = stop
	if f := s.readDeadline(); f != nil {
		s.record.Error = f.msg
		s.fail(f, "")
		return
	}
	pair, end, err := s.play.Run(ctx, s.record.Action)
	instead := s.settle(pair, end)
	if !instead {
		stop()
	}
	if err != nil && !clientGone(s.r.Context()) {
		s.api.log.LogAttrs(s.r.Context(), slog.LevelError, "a cascade could not decide; the last answer at hand is returned", s.id(), slog.String("error", err.Error()))
	}
	for i := range s.record.Cascade {
		s.record.Cascade[i].Facts = s.play.Facts(s.record.Cascade[i].Action)
	}
	if s.play.Decided {
		s.prices = append(s.prices, s.at)
	}
	defer s.logPrices() // what takes over is one more stage
	name, a := s.result.Policy.Name, s.kept[pair]
	switch {
	case end == stages.Live && len(s.record.Cascade) == 0: // a refusal
		end = stages.None
	case end == stages.Live || s.refused:
	case instead:
		end = stages.Instead
		s.takeOver(ctx, stop)
	case a == nil:
		s.noneAnswered(ctx)
	case s.clientGone():
		s.note(new(outcome)) // nobody got the last answer
		s.record.Error, end = "the client left", stages.None
	default:
		s.sendRead(a)
	}
	s.api.metrics.Cascade(name, string(end), len(s.record.Cascade))
	for i, n := range s.play.Unknown {
		s.api.metrics.UnknownFact(name, s.result.Policy.Cascade().Facts[i].Name, n)
	}
}

// ask asks a pair for the next answer.
func (s *staged) ask(ctx context.Context, pair int, last, inHand bool) stages.Asked {
	stop := s.stop
	if inHand && s.deadline > 0 {
		left := s.deadline - time.Since(s.began)
		if left <= 0 {
			return stages.Asked{Stop: true}
		}
		inner, first, cancel := withDeadline(ctx, left)
		defer cancel(nil)
		ctx, stop = inner, func() bool { return first() && s.stop() }
	}
	if s.calls >= s.settings.Fallback.Tries || ctx.Err() != nil {
		return stages.Asked{Stop: true}
	}
	k, ok, refused := s.prepare(ctx, pair, len(s.record.Attempts))
	if s.refused = refused; !ok {
		return stages.Asked{Stop: refused || ctx.Err() != nil}
	}
	others := slices.DeleteFunc(s.result.Ranked(0), func(i int) bool { return i == pair || s.kept[i] != nil })
	k.whole, k.last = !last, !inHand && !s.hasFallback(k.expert, others)
	for _, r := range s.askOrHedge(ctx, k, others) {
		switch good := r.isGood(); {
		case good && (r.answer.Stream != nil || r.answer.Status != http.StatusOK && !inHand): // such a refusal is of the caller's making
			stop()
			s.pass(r, pair)
			return stages.Asked{Pair: r.pair, Sent: true}
		case good && r.answer.Status == http.StatusOK:
			if a := s.read(ctx, r, pair); a != nil {
				return stages.Asked{Pair: r.pair, Answer: a, Stop: clientGone(s.r.Context())}
			}
		default:
			s.skip(r)
		}
	}
	return stages.Asked{Stop: ctx.Err() != nil}
}

// pass passes the answer of the last stage on as it comes, or a refusal.
func (s *staged) pass(r asked, asked int) {
	s.span = r.span
	answered := r.answer.Status == http.StatusOK
	if answered {
		s.names = append(s.names, s.actions.Name(r.pair))
	}
	s.sendAnswer(r.pair, r.expert, r.answer, r.began, r.hold)
	if answered {
		s.addStage(r.pair, asked, time.Since(r.began))
	}
}

// read charges a whole answer and returns what is seen of it. nil: it cannot be passed on as the stream that the caller wants.
func (s *staged) read(ctx context.Context, r asked, asked int) *observe.Answer {
	kept := &skippedAnswer{pair: r.pair, hold: r.hold, expert: r.expert, answer: r.answer}
	out := outcome{model: r.answer.Model, usage: r.answer.Usage, estimate: int64(len(r.answer.Body) / bytesPerToken), status: r.answer.Status}
	s.calls++
	s.charge(r.expert, &out)
	r.hold.answered(&out)
	kept.fee = out.fee
	if s.request.Stream {
		var err error
		if kept.stream, err = protocol.AsStream(s.request, r.answer.Body); err != nil {
			s.failedExperts[r.expert.Name], s.expertFailed = true, true
			s.addFailure(r.pair, r.answer.Status, r.took, fmt.Errorf("%s: the answer was charged, and cannot be passed on as a stream: %w", r.expert.Name, err))
			return nil
		}
	}
	rec := s.record
	rec.Attempts = append(rec.Attempts, decisionlog.Attempt{Action: r.pair, Status: r.answer.Status, Micros: r.took.Microseconds()})
	rec.Stages.Expert += r.took.Microseconds()
	s.api.metrics.Stage(s.result.Policy.Name, "expert", r.took)
	s.note(&out)
	s.addStage(r.pair, asked, r.took)
	s.kept[r.pair], s.names = kept, append(s.names, s.actions.Name(r.pair))
	a := stages.Read(s.request.Format, r.answer.Body)
	if err := stages.Compare(ctx, s.result.Policy.Cascade(), a, rec.Features, s.encode); err != nil && ctx.Err() == nil {
		s.warn("an answer could not be compared with its question", r.expert.Name, err)
	}
	return a
}

// encode returns the vector of a text by the encoder of the policy.
func (s *staged) encode(ctx context.Context, text string) ([]float32, error) {
	return s.result.Policy.Encode(ctx, policies.Inputs{Texts: []string{text}})
}

// logPrices puts the prices of all decisions into the record, where they differ from those of the first one.
func (s *staged) logPrices() {
	rec, pairs := s.record, len(s.record.Available)
	fees, differ := make([]float64, 0, len(s.prices)*pairs), false
	available, masked := make([]bool, 0, len(s.prices)*pairs), false
	for _, at := range s.prices {
		own := at.Pairs
		if own == nil {
			own = make([]float64, pairs)
		}
		fees, available = append(fees, own...), append(available, at.Available...)
		differ = differ || !slices.Equal(at.Pairs, rec.PairFees)
		masked = masked || !slices.Equal(at.Available, rec.Available)
	}
	if differ {
		rec.StagePairFees = fees
	}
	if masked {
		rec.StageAvailable = available
	}
}

// addStage adds the answer that the record describes to the stages of the decision. asked is the pair that was asked at first.
func (s *staged) addStage(pair, asked int, took time.Duration) {
	rec, none := s.record, math.NaN()
	stage := decisionlog.CascadeStage{Action: pair, Propensity: none, Fee: none, In: none, Cached: none, Out: none, Micros: took.Microseconds()}
	switch {
	case !s.play.Chosen || pair != asked || rec.Share != 0:
	case len(rec.Cascade) == 0:
		stage.Propensity = rec.Propensity[pair]
	default:
		stage.Propensity = 1
	}
	if rec.FeeKnown {
		stage.Fee = rec.Fee
	}
	if u := rec.Usage; u.Known {
		stage.In, stage.Out = float64(u.In), float64(u.Out)
		if u.CachedKnown {
			stage.Cached = float64(u.Cached)
		}
	}
	rec.Cascade, s.prices = append(rec.Cascade, stage), append(s.prices, s.at)
}

// beside are the answers that were read whole beside the one of a pair, for the sessions. They are nil where one pair answers.
func (s *staged) beside(pair int) (others []session.Answer) {
	if s == nil || s.turn == nil {
		return nil
	}
	for _, i := range s.play.Order {
		if a := s.kept[i]; a != nil && i != pair {
			out := outcome{model: a.answer.Model, usage: a.answer.Usage}
			others = append(others, s.turn.answer(s.routed, i, a.expert, &out, s.added(i)))
		}
	}
	return others
}

// sendRead sends an answer that was read whole and charged before.
func (s *staged) sendRead(a *skippedAnswer) {
	s.setHeaders(a.pair, s.before())
	if a.stream != nil {
		s.watchEnd(a.stream)
		s.keepStream(a.expert.Name)
		a.answer.Header.Set("Content-Type", "text/event-stream")
		a.answer.Header.Set("Cache-Control", "no-cache")
		a.answer.Body = a.stream
	}
	out := s.send(a.expert, a.answer)
	out.fee = a.fee
	s.fillRecord(a.pair, a.expert, &out)
	s.turn.answered(s.routed, a.pair, a.expert, &out, s.added(a.pair))
}

// setHeader names the stages. They are nil where one pair answers.
func (s *staged) setHeader(h http.Header) {
	if s != nil && len(s.names) > 0 {
		h.Set(headerStages, headerValue(strings.Join(s.names, ",")))
	}
}
