package policies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"

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
		Estimate: &policy.Estimate{Blend: estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.NewConstant(none, info.Dim)}}}, Constant: none},
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
	p.fees = p.Info().Actions.Fees(p.Info().Lambda)
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

// Next decides on rows in any state of the cascade in the policy's file, see [cascade.Decider.Next].
func (p *Policy) Next(ctx context.Context, rows cascade.Rows) (*cascade.Decisions, error) {
	w := &nextJob{policy: p, rows: rows}
	if err := p.queues.decide.do(ctx, &job{batchKey: w, rows: rows.N, run: runNextJob, work: w}); err != nil {
		return nil, err
	}
	return w.next, nil
}

// nextJob is the work of a job of the queue decide. It runs alone.
type nextJob struct {
	policy *Policy
	rows   cascade.Rows
	next   *cascade.Decisions
}

func runNextJob(ctx context.Context, jobs []*job) {
	w := jobs[0].work.(*nextJob)
	w.next, jobs[0].err = w.policy.cascade.Next(context.WithoutCancel(ctx), w.rows)
}

// decideFirst makes the first decisions of a cascade on the rows of several calls.
func (p *Policy) decideFirst(ctx context.Context, asks []*decide.Ask) {
	rows := cascade.Rows{}
	for _, a := range asks {
		rows.N += a.Rows
		rows.Features = append(rows.Features, a.Features...)
	}
	info := p.cascade.Info()
	rows.Executed, rows.Observed = make([]bool, rows.N*info.Actions.Len()), make([]float32, rows.N*info.Columns())
	for i := range rows.Observed {
		rows.Observed[i] = float32(math.NaN())
	}
	next, err := p.cascade.Next(ctx, rows)
	if err != nil && len(asks) > 1 { // only the call with the error fails
		for _, a := range asks {
			p.decideFirst(ctx, []*decide.Ask{a})
		}
		return
	}
	first := 0
	for _, a := range asks {
		if a.Err = err; err == nil {
			a.Answer = p.firstDecisions(next, first, first+a.Rows)
		}
		first += a.Rows
	}
}

// firstDecisions are the rows [from, to) as decisions of a policy.
func (p *Policy) firstDecisions(next *cascade.Decisions, from, to int) *policy.Decisions {
	pairs, levels := p.Info().Actions.Len(), len(p.Info().Actions.Advice)
	out := &policy.Decisions{Actions: pairs, Levels: levels}
	for n := from; n < to; n++ {
		action, cost := next.Action[n], next.Cost[n*pairs:(n+1)*pairs]
		out.Action, out.Expert, out.Advice = append(out.Action, action), append(out.Expert, action/int64(levels)), append(out.Advice, action%int64(levels))
		best := float32(math.Inf(-1))
		for i, c := range cost {
			loss := c
			if c < -policy.ExcludedBelow {
				loss -= float32(p.fees[i])
			}
			out.Cost, out.Loss, out.Scores = append(out.Cost, c), append(out.Loss, loss), append(out.Scores, -c)
			best = max(best, -c)
		}
		// The action has the best score, also where it is preferred by a margin.
		out.Scores[len(out.Scores)-pairs+int(action)] = math.Nextafter32(best, float32(math.Inf(1)))
	}
	return out
}
