package builder

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"pipe/experts/chat"
)

// figures turns what was seen and counted into the report.
func (e *estimator) figures() {
	perAccount := make(map[string]*CallEstimate)
	total, variance, known := &e.report.Total, 0.0, true
	most, sum := 0.0, 0.0
	for _, a := range e.asks {
		limits, isService := e.session.Limits(a.part)
		if !isService {
			continue // a model that runs here costs nothing
		}
		e.countVerdicts(a)
		c, v := a.estimate(limits)
		c.Seconds = math.Max(c.secondsAt(limits), e.session.RequestSeconds(a.part)*float64(c.Calls)/float64(limits.Concurrency))
		variance, known = variance+v, known && (c.Calls == 0 || c.Low != nil)
		e.report.Pairs = append(e.report.Pairs, PairEstimate{Part: a.part, Advice: e.adviceOf(a), CallEstimate: c})
		account := perAccount[limits.Account]
		if account == nil {
			account = &CallEstimate{}
			perAccount[limits.Account] = account
		}
		account.add(&c)
		total.add(&c)
		most, sum = math.Max(most, math.Max(c.Seconds, account.secondsAt(limits))), sum+c.Seconds
	}
	if known {
		total.interval(normal975 * math.Sqrt(variance))
	}
	// The experts of a shard are asked one after the other, those of several shards at the same time.
	total.Seconds = math.Max(most, sum/float64(e.Workers))
}

// normal975 is the quantile of the normal distribution that ends a 95% interval.
const normal975 = 1.96

// adviceOf is the advice under which an expert asks, "" for other parts.
func (e *estimator) adviceOf(a *asking) string {
	if a.expert < 0 {
		return ""
	}
	return e.Levels[a.level].Name
}

// countVerdicts sets the requests of a judge, which depend on answers that are not known: one for every answer.
func (e *estimator) countVerdicts(a *asking) {
	if a.expert >= 0 || a.level >= 0 {
		return
	}
	a.calls = chat.Calls{New: int64(len(e.rows)) * int64(e.actions.Len()-len(e.actions.Unavailable))}
	a.calls.New = max(0, a.calls.New-int64(len(a.seen)))
	a.calls.Kept = int64(len(a.seen))
}

// estimate extrapolates what was seen to all requests that would be made. variance is that of the money, made larger as
// Student's t makes its interval.
func (a *asking) estimate(limits chat.Limits) (c CallEstimate, variance float64) {
	c = CallEstimate{Calls: a.calls.New, Kept: a.calls.Kept, Observed: len(a.seen), Unpriced: !limits.Priced}
	if len(a.seen) == 0 {
		return c, 0
	}
	n, requests := float64(len(a.seen)), 0.0
	var prompt, completion, money, squares float64
	for _, s := range a.seen {
		prompt, completion, money = prompt+float64(s.PromptTokens), completion+float64(s.CompletionTokens), money+s.Money
		squares += s.Money * s.Money
		requests += float64(a.requests)
	}
	calls := float64(c.Calls)
	c.PromptTokens, c.CompletionTokens, c.Money = calls*prompt/requests, calls*completion/requests, calls*money/requests
	if n < 2 {
		return c, 0
	}
	spread := math.Max(0, (squares-money*money/n)/(n-1)) // of the money of an instance
	half := calls / (requests / n) * math.Sqrt(spread/n)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	c.interval(t * half)
	return c, half * half * (t / normal975) * (t / normal975)
}

// interval sets the interval of the money.
func (c *CallEstimate) interval(half float64) {
	low, high := math.Max(0, c.Money-half), c.Money+half
	c.Low, c.High = &low, &high
}

// add adds other requests, without their interval and their time.
func (c *CallEstimate) add(d *CallEstimate) {
	c.Calls, c.Kept, c.Observed = c.Calls+d.Calls, c.Kept+d.Kept, c.Observed+d.Observed
	c.PromptTokens, c.CompletionTokens, c.Money = c.PromptTokens+d.PromptTokens, c.CompletionTokens+d.CompletionTokens, c.Money+d.Money
	c.Unpriced = c.Unpriced || d.Unpriced
}

// secondsAt is the least time that the limits on requests and tokens allow.
func (c *CallEstimate) secondsAt(l chat.Limits) float64 {
	seconds := 0.0
	if l.RequestsPerSecond > 0 {
		seconds = float64(c.Calls) / l.RequestsPerSecond
	}
	if l.TokensPerMinute > 0 {
		seconds = math.Max(seconds, 60*(c.PromptTokens+c.CompletionTokens)/l.TokensPerMinute)
	}
	return seconds
}
