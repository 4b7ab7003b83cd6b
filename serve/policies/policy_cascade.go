package policies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/cascade"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
)

// MethodCascade is the method of a policy whose file is a cascade.
const MethodCascade = "cascade"

// cascadeKey is the key of its metadata with the digest of the file.
const cascadeKey = "cascade_sha256"

// parse reads the content of a policy file. Of a cascade it returns the graph, too, and a policy with the names and fees of the
// cascade: such a policy makes the first decision, see [Policy.Next].
func parse(path string, content []byte) (*decide.PolicyFile, *onnx.Model, error) {
	f, err := decide.ParsePolicy(path, content)
	if err == nil || !errors.Is(err, policy.ErrNotPolicy) {
		return f, nil, err
	}
	m, failed := onnx.Parse(content)
	if failed != nil || m.Metadata()["pipe.kind"] != cascade.Kind {
		return nil, nil, err
	}
	info, err := cascade.Parse(m)
	if err == nil {
		err = m.Check()
	}
	if err == nil {
		f, err = firstOf(path, info, content)
	}
	if err != nil {
		return nil, nil, &costs.DataError{Err: fmt.Errorf("read cascade %q: %w", path, err)}
	}
	return f, m, nil
}

// firstOf is a policy file with the names and fees of a cascade. Its graph is never run.
func firstOf(path string, info *cascade.Info, content []byte) (*decide.PolicyFile, error) {
	sum := sha256.Sum256(content)
	about := maps.Clone(info.Info)
	for _, key := range []string{cascade.GuardKey, "method", "recipe", "tau", "decoder", "feature_source", "members", "fixed", policy.PricesKey, policy.UsageKey} {
		delete(about, key) // they mean something else there
	}
	about[cascadeKey] = hex.EncodeToString(sum[:])
	none := make([]float64, info.Actions.Len())
	p := &policy.Policy{
		Actions: info.Actions, Dim: info.Dim, Lambda: info.Lambda, Method: MethodCascade, Recipe: MethodCascade, Decoder: policy.DecoderEstimate,
		Standard: network.Standardizer{Mean: make([]float32, info.Dim), Scale: ones(info.Dim)}, Info: about,
		Estimate: &policy.Estimate{Blend: estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.NewConstant(none, info.Dim)}}}, Constant: none, Prices: info.Prices},
	}
	m, err := p.Export()
	if err != nil {
		return nil, err
	}
	text, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	return decide.ParsePolicy(path, text)
}

func ones(n int) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = 1
	}
	return all
}

// openCascade opens a cascade for a policy; nil: the file is none.
func (p *Policy) openCascade(rt *ort.Runtime, m *onnx.Model) (err error) {
	if m == nil {
		return nil
	}
	p.cascade, err = cascade.NewDecider(rt, m)
	return err
}

func (p *Policy) closeCascade() error {
	if p.cascade == nil {
		return nil
	}
	return p.cascade.Close()
}

// Cascade describes the cascade in the policy's file; nil: the file is no cascade. The decisions of [Policy.Decide] are then its first
// ones. They expect the cost up to the end: what they say of a loss has the fees of later stages, too.
func (p *Policy) Cascade() *cascade.Info {
	if p.cascade == nil {
		return nil
	}
	return p.cascade.Info()
}

// Guarantee is that of the policy's file. That of a cascade is about the answer that it accepts in the end. nil: the file has none.
func (p *Policy) Guarantee() *policy.Guarantee {
	if p.cascade != nil {
		return p.cascade.Info().Guarantee
	}
	return p.Info().Guarantee
}

// Next decides on rows in any state of the cascade in the policy's file, see [cascade.Decider.NextAt].
func (p *Policy) Next(ctx context.Context, at []*policy.Prices, rows cascade.Rows) (*cascade.Decisions, error) {
	w := &nextJob{policy: p, at: at, rows: rows}
	if err := p.queues.decide.do(ctx, &job{batchKey: w, rows: rows.N, run: runNextJob, work: w}); err != nil {
		return nil, err
	}
	return w.next, nil
}

// Guarantees reports whether the guarantee of a cascade accepts the answer of a pair on one row: the cascade itself, at prices and with
// every pair, executes those of the row, accepts this answer, and expects a loss of it that is small enough. Pairs that were left out and
// calls that failed lead to another path, on which nothing is accepted. Whether the guarantee is about these prices says [Policy.Promises].
func (p *Policy) Guarantees(ctx context.Context, at *policy.Prices, rows cascade.Rows, pair int) (bool, error) {
	all := *at
	all.Available = p.Info().Actions.Mask()
	path, left := rows, 0
	path.Executed = make([]bool, len(rows.Executed))
	for _, executed := range rows.Executed {
		if executed {
			left++
		}
	}
	for ; ; left-- {
		d, err := p.Next(ctx, []*policy.Prices{&all}, path)
		if err != nil {
			return false, err
		}
		next := int(d.Action[0])
		switch {
		case left == 0:
			return d.Accepted != nil && d.Accepted[0] && next == pair, nil
		case d.Accept[0] || !rows.Executed[next]:
			return false, nil
		}
		path.Executed[next] = true
	}
}

// nextJob is the work of a job of the queue decide. It runs alone.
type nextJob struct {
	policy *Policy
	at     []*policy.Prices
	rows   cascade.Rows
	next   *cascade.Decisions
}

func runNextJob(ctx context.Context, jobs []*job) {
	w := jobs[0].work.(*nextJob)
	w.next, jobs[0].err = w.policy.cascade.NextAt(context.WithoutCancel(ctx), w.at, w.rows)
}

// firstRows are n rows on which nothing was executed.
func (p *Policy) firstRows(features []float32, n int) cascade.Rows {
	info, none := p.cascade.Info(), float32(math.NaN())
	return cascade.Rows{N: n, Features: features, Executed: make([]bool, n*info.Actions.Len()), Observed: slices.Repeat([]float32{none}, n*info.Columns())}
}

// decideFirst makes the first decisions of a cascade on the rows of several calls.
func (p *Policy) decideFirst(ctx context.Context, asks []*decide.Ask) {
	var features []float32
	var at []*policy.Prices
	for _, a := range asks {
		features = append(features, a.Features...)
		for i := range a.Rows {
			at = append(at, p.pricesOf(a, i))
		}
	}
	one := at
	if !slices.ContainsFunc(at, func(other *policy.Prices) bool { return other != at[0] }) {
		one = at[:1]
	}
	next, err := p.cascade.NextAt(ctx, one, p.firstRows(features, len(at)))
	if err != nil && len(asks) > 1 { // only the call with the error fails
		for _, a := range asks {
			p.decideFirst(ctx, []*decide.Ask{a})
		}
		return
	}
	first := 0
	for _, a := range asks {
		if a.Err = err; err == nil {
			a.Answer = p.firstDecisions(next, at, first, first+a.Rows)
		}
		first += a.Rows
	}
}

// pricesOf are the prices of a row of a call.
func (p *Policy) pricesOf(a *decide.Ask, row int) *policy.Prices {
	switch len(a.Prices) {
	case 0:
		return p.Prices()
	case 1:
		return a.Prices[0]
	}
	return a.Prices[row]
}

// Executions are how often a cascade is expected to execute each pair of a row if it executes one first: A x A, by the first one, from 0
// to 1. They are the slopes of its expected costs, of which cost are those at the prices at, in the fees of pairs: with the policies of
// later stages as they are, a cost rises by what is paid more. Of a pair that cannot be executed first, all are 0.
func (p *Policy) Executions(ctx context.Context, at *policy.Prices, features, cost []float32) ([]float64, error) {
	const part = 1. / 1024 // of the largest cost: far above its rounding, and far below what changes a decision
	pairs, more := len(cost), 0.0
	exists := func(i int) bool { return cost[i] < -policy.ExcludedBelow }
	for i, c := range cost {
		if exists(i) {
			more = max(more, part*math.Abs(float64(c)))
		}
	}
	all := make([]*policy.Prices, pairs)
	for i := range all {
		dearer := *at
		dearer.Pairs = make([]float64, pairs)
		copy(dearer.Pairs, at.Pairs)
		dearer.Pairs[i] += more
		all[i] = &dearer
	}
	next, err := p.Next(ctx, all, p.firstRows(slices.Repeat(features, pairs), pairs))
	if err != nil || more == 0 {
		return nil, err
	}
	out := make([]float64, pairs*pairs)
	for first := range pairs {
		for i := range pairs {
			if exists(first) && i == first {
				out[first*pairs+i] = 1
			} else if exists(first) {
				out[first*pairs+i] = min(max(0, float64(next.Cost[i*pairs+first]-cost[first])/more), 1)
			}
		}
	}
	return out, nil
}

// firstDecisions are the rows [from, to) as decisions of a policy.
func (p *Policy) firstDecisions(next *cascade.Decisions, at []*policy.Prices, from, to int) *policy.Decisions {
	pairs, levels := p.Info().Actions.Len(), len(p.Info().Actions.Advice)
	out := &policy.Decisions{Actions: pairs, Levels: levels}
	for n := from; n < to; n++ {
		action, cost := next.Action[n], next.Cost[n*pairs:(n+1)*pairs]
		out.Action, out.Expert, out.Advice = append(out.Action, action), append(out.Expert, action/int64(levels)), append(out.Advice, action%int64(levels))
		best := float32(math.Inf(-1))
		for i, c := range cost {
			loss := c
			if c < -policy.ExcludedBelow {
				loss -= float32(at[n].Fee(i))
			}
			out.Cost, out.Loss, out.Scores = append(out.Cost, c), append(out.Loss, loss), append(out.Scores, -c)
			best = max(best, -c)
		}
		// The action has the best score, also where it is preferred by a margin.
		out.Scores[len(out.Scores)-pairs+int(action)] = math.Nextafter32(best, float32(math.Inf(1)))
	}
	return out
}
