package oip

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"pipe/models/policy"
	"pipe/onnx"
	"pipe/serve/access"
	"pipe/serve/decision"
	"pipe/serve/policies"
)

// logID is an id of a request that the log takes, empty for one that it does not take: it then gets a new one.
func logID(id string) string {
	if len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }) {
		return ""
	}
	return id
}

// readyToRecord refuses a request that could not be logged, where the log must have every decision.
func (a *API) readyToRecord() error {
	if a.decider == nil {
		return nil
	}
	if err := a.decider.ReadyToRecord(); err != nil {
		return &problem{kind: unavailable, text: err.Error(), err: err}
	}
	return nil
}

// record gives the decisions in the outputs to the decider, which logs and counts them. outputs are all of the policy. It
// returns the ids of the decisions in the log.
func (a *API) record(ctx context.Context, p *policies.Policy, r *request, inputs, outputs map[string]*onnx.Tensor, t *times) ([]string, error) {
	if a.decider == nil {
		return nil, nil
	}
	in := decision.Inferred{
		Policy: p, Decisions: decisionsOf(outputs, p.Info().Actions.Len(), len(p.Info().Actions.Advice)),
		Prices: pricesOf(p.Info(), inputs), Request: logID(r.log), Client: access.CallerOf(ctx).Name,
		Start: t.start, Decode: t.read.Sub(t.start), Decide: t.ran.Sub(t.read),
	}
	if x := inputs[policy.FeaturesInput]; x != nil && !p.Info().Encoded {
		in.Features = x.Float32s() // a copy: the log keeps it longer than the request
	}
	return a.decider.RecordInferred(in)
}

// decisionsOf are the decisions in the outputs of a policy.
func decisionsOf(outputs map[string]*onnx.Tensor, pairs, levels int) *policy.Decisions {
	d := &policy.Decisions{
		Actions: pairs, Levels: levels,
		Action: outputs[policy.ActionOutput].Int64s(), Expert: outputs[policy.ExpertOutput].Int64s(), Advice: outputs[policy.AdviceOutput].Int64s(),
		Scores: outputs[policy.ScoresOutput].Float32s(),
	}
	if loss := outputs[policy.LossOutput]; loss != nil {
		d.Loss, d.Cost = loss.Float32s(), outputs[policy.CostOutput].Float32s()
	}
	return d
}

// pricesOf are the prices in the tensors of a request: none, one for all rows, or one for each row. What is left out is as the
// file has it.
func pricesOf(info *policy.Info, inputs map[string]*onnx.Tensor) []policy.Prices {
	if info.Prices == nil {
		return nil
	}
	rows := 0
	for _, name := range []string{policy.ExpertFeesInput, policy.AdviceFeesInput, policy.PairFeesInput, policy.AvailableInput} {
		if t := inputs[name]; t != nil {
			rows = max(rows, int(t.Shape[0]))
		}
	}
	out := make([]policy.Prices, rows)
	base := policy.PricesOf(info.Actions, info.Lambda)
	for i := range out {
		out[i] = policy.Prices{
			Experts: rowOf(inputs[policy.ExpertFeesInput], i, base.Experts), Advice: rowOf(inputs[policy.AdviceFeesInput], i, base.Advice),
			Pairs: rowOf(inputs[policy.PairFeesInput], i, nil),
		}
		if t := inputs[policy.AvailableInput]; t != nil {
			width := int(t.Shape[1])
			at := min(i, int(t.Shape[0])-1) * width
			out[i].Available = (&onnx.Tensor{DType: onnx.Bool, Raw: t.Raw[at : at+width]}).Bools()
		}
	}
	return out
}

// rowOf is row i of a tensor of fees, whose only row may be for all; other where there is no tensor.
func rowOf(t *onnx.Tensor, i int, other []float32) []float32 {
	if t == nil {
		return other
	}
	width := int(t.Shape[1]) * 4
	at := min(i, int(t.Shape[0])-1) * width
	return (&onnx.Tensor{DType: onnx.Float32, Raw: t.Raw[at : at+width]}).Float32s()
}
