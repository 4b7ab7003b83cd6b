package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/internal/strictjson"
	"pipe/onnx"
	"pipe/onnx/rewrite"
)

// RiskKey is the key of the metadata of a policy with a guarantee, whose value is the [Guarantee] in JSON.
const RiskKey = "risk"

// formatGuarantee is the version of a file with a guarantee.
const formatGuarantee = 4

// Guarantee is a promise about the decisions that a policy file accepts: those whose chosen pair has an expected loss of at most
// Threshold. Losses are task losses, without fees.
type Guarantee struct {
	Risk       float64 `json:"risk"`                 // the promised largest expected loss of an accepted decision
	Confidence float64 `json:"confidence,omitempty"` // with which the promise holds; absent: it holds on average over calibrations
	Method     string  `json:"method"`               // of package models/risk: ltt, rcps or crc
	Joint      bool    `json:"joint,omitempty"`      // the promise is about all decisions, of which those that are not accepted count as 0
	Bound      float64 `json:"bound"`                // largest possible loss
	// Threshold is a float32, in the unit of the loss. Absent: every decision is accepted.
	Threshold *float64 `json:"threshold,omitempty"`

	Split  string            `json:"split"`            // of the calibration rows
	Tensor string            `json:"tensor,omitempty"` // digest of their tensor
	Rows   int               `json:"rows"`
	At     []GuaranteedPrice `json:"at"`            // prices at which the promise holds, at least one
	Law    string            `json:"law,omitempty"` // the promise is on average over random prices, drawn like this; At has one entry then
	// Instead takes what is not accepted.
	Instead Instead `json:"instead"`
}

// GuaranteedPrice is a price of a [Guarantee], and what was seen on the calibration rows.
type GuaranteedPrice struct {
	Lambda   float64  `json:"lambda"`         // multiplier of the fees of advice, which are those of the file; without meaning under a law
	Accepted float64  `json:"accepted"`       // share of the rows
	Samples  int      `json:"samples"`        // accepted rows, where rows that belong together count as one
	Loss     *float64 `json:"loss,omitempty"` // mean loss of these samples; absent if there are none
}

// Instead names what takes a decision that is not accepted.
type Instead struct {
	Name string   `json:"name"`          // an expert of the file without advice, a pair (expert/advice), or Abstain
	Fee  *float64 `json:"fee,omitempty"` // in the unit of the loss; absent: not stated
}

// Abstain is the name of [Instead] where no expert takes over: nobody answers.
const Abstain = "abstain"

// Pair is the pair that takes over, -1 for [Abstain]. It is an error if a has no such pair, or two of this
// name, since names may contain a slash; an expert comes before a pair.
func (i Instead) Pair(a *costs.Actions) (int, error) {
	if i.Name == Abstain {
		return -1, nil
	}
	pair, err := pairIndex(a, i.Name)
	if j := a.ExpertIndex(i.Name); j >= 0 {
		pair, err = a.Index(j, 0), nil
	}
	if err == nil && !a.Available(pair) {
		err = fmt.Errorf("%s is not available", a.Name(pair))
	}
	if err != nil {
		return -1, fmt.Errorf("%q should take over, which has to be an expert that answers without advice, or a pair: %w", i.Name, err)
	}
	return pair, nil
}

// Check returns why the guarantee is not one for a policy with the pairs of a.
func (g *Guarantee) Check(a *costs.Actions) error {
	finite := func(v float64) bool { return isFinite(v) && v >= 0 }
	switch {
	case !(g.Bound > 0) || !isFinite(g.Bound) || !(g.Risk > 0 && g.Risk < g.Bound):
		return fmt.Errorf("a risk of %g under a largest loss of %g", g.Risk, g.Bound)
	case !(g.Confidence >= 0 && g.Confidence < 1):
		return fmt.Errorf("a confidence of %g", g.Confidence)
	case g.Threshold != nil && (!isFinite(*g.Threshold) || float64(float32(*g.Threshold)) != *g.Threshold):
		return fmt.Errorf("the threshold %g is not a float32", *g.Threshold)
	case len(g.At) == 0 || g.Law != "" && len(g.At) != 1:
		return fmt.Errorf("%d prices", len(g.At))
	case g.Instead.Name == "" || g.Instead.Fee != nil && !finite(*g.Instead.Fee):
		return errors.New("what takes over is not named, or its fee is not a number of at least 0")
	}
	_, err := g.Instead.Pair(a)
	return err
}

// Promise is the guarantee in words: what is promised, where it was calibrated and what was accepted there. The words are a
// sentence each.
func (g *Guarantee) Promise() []string {
	what := fmt.Sprintf("an accepted decision has an expected loss of at most %g", g.Risk)
	if g.Joint {
		what = fmt.Sprintf("the expected loss of a decision, where one that is not accepted counts as 0, is at most %g", g.Risk)
	}
	how := fmt.Sprintf("with a confidence of %g%%", 100*g.Confidence)
	if g.Confidence == 0 {
		how = "on average over calibrations"
	}
	where := "at " + g.Prices()
	seen := g.least()
	out := []string{
		fmt.Sprintf("%s, %s, %s (%s).", what, how, where, g.Method),
		fmt.Sprintf("%.1f%% of the %d calibration rows (split %s) are accepted%s%s.", 100*seen.Accepted, g.Rows, g.Split, g.atLeast(), meanLoss(seen)),
	}
	rule := "every decision is accepted"
	if g.Threshold != nil {
		rule = fmt.Sprintf("a decision is accepted if its expected loss is at most %.6g", *g.Threshold)
	}
	takes := g.Instead.Name
	if g.Instead.Fee != nil {
		takes = fmt.Sprintf("%s, at a fee of %g", takes, *g.Instead.Fee)
	}
	return append(out, rule+"; what is not accepted is for "+takes+".", "it holds as long as later rows are drawn like the calibration rows.")
}

func meanLoss(v GuaranteedPrice) string {
	if v.Loss == nil {
		return ""
	}
	return fmt.Sprintf(", with a mean loss of %.4f", *v.Loss)
}

func (g *Guarantee) atLeast() string {
	if len(g.At) == 1 {
		return ""
	}
	return " at the price where fewest are"
}

// least is the price at which fewest decisions were accepted.
func (g *Guarantee) least() GuaranteedPrice {
	return slices.MinFunc(g.At, func(a, b GuaranteedPrice) int {
		if a.Accepted < b.Accepted {
			return -1
		}
		return 1
	})
}

// Prices names the prices of the promise.
func (g *Guarantee) Prices() string {
	if g.Law != "" {
		return "random prices (" + g.Law + ")"
	}
	var list []string
	for _, v := range g.At {
		list = append(list, strconv.FormatFloat(v.Lambda, 'g', -1, 64))
	}
	return "lambda " + strings.Join(list, ", ")
}

// ReadGuarantee reads the guarantee in the metadata of a file with the pairs of a; nil: it has none.
func ReadGuarantee(meta map[string]string, a *costs.Actions) (*Guarantee, error) {
	text, ok := meta[keyPrefix+RiskKey]
	if !ok {
		return nil, nil
	}
	g := new(Guarantee)
	err := json.Unmarshal([]byte(text), g)
	if err == nil {
		err = g.Check(a)
	}
	if err != nil {
		return nil, fmt.Errorf("metadata %s%s: %w", keyPrefix, RiskKey, strictjson.Plain(err))
	}
	return g, nil
}

// readGuarantee reads the guarantee of a policy.
func (info *Info) readGuarantee(meta map[string]string) (err error) {
	if info.Guarantee, err = ReadGuarantee(meta, info.Actions); err == nil && info.Guarantee != nil {
		err = info.checkThreshold(info.Guarantee)
	}
	return err
}

// checkThreshold refuses a threshold on estimates that the policy does not have.
func (info *Info) checkThreshold(g *Guarantee) error {
	if g.Threshold != nil && !info.estimates() {
		return fmt.Errorf("a threshold, but the decoder %s estimates no losses", info.Decoder)
	}
	return nil
}

// acceptPrefix is that of the names of what [WithGuarantee] adds to a graph.
const acceptPrefix = "accept/"

// WithGuarantee is a policy file with the output [AcceptedOutput] and the guarantee in its metadata. m is not changed, and its
// constants are shared. A policy with a guarantee, and one with an encoder in front, are errors.
func WithGuarantee(m *onnx.Model, g Guarantee) (*onnx.Model, error) {
	info, err := Parse(m)
	switch {
	case err != nil:
		return nil, err
	case info.Guarantee != nil:
		return nil, errors.New("the policy has a guarantee already: calibrate the one without")
	case info.Encoded:
		return nil, errors.New("the policy has an encoder in front: calibrate the policy alone, then put the encoder in front of it (pipe convert --merge)")
	}
	if err := errors.Join(g.Check(info.Actions), info.checkThreshold(&g)); err != nil {
		return nil, fmt.Errorf("guarantee: %w", err)
	}
	accept, err := g.graph(info)
	if err != nil {
		return nil, err
	}
	connect := map[string]string{ActionOutput: ActionOutput}
	if g.Threshold != nil {
		connect[LossOutput] = LossOutput
	}
	out, err := g.Add(m, accept, connect, formatGuarantee)
	if err == nil {
		_, err = Parse(out)
	}
	return out, err
}

// Add is a file of any kind with a graph behind it that makes the output [AcceptedOutput] of what connect names, with the guarantee in its
// metadata, and a version of its format that readers without guarantees refuse. m is not changed.
func (g *Guarantee) Add(m, accept *onnx.Model, connect map[string]string, format int) (*onnx.Model, error) {
	out, err := rewrite.Merge(m, accept, connect, rewrite.MergeOptions{Name: m.Proto.GetGraph().GetName(), SecondPrefix: acceptPrefix, Keep: true})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	meta := maps.Clone(m.Metadata())
	meta[keyPrefix+RiskKey] = string(text)
	meta[keyPrefix+"format"] = strconv.Itoa(format)
	out.SetMetadata(meta)
	return out, nil
}

// graph computes accepted from the action and the expected losses of a policy.
func (g *Guarantee) graph(info *Info) (*onnx.Model, error) {
	b := onnx.NewGraph("accept")
	batch := onnx.Sym("batch")
	action := b.Input(ActionOutput, onnx.Int64, onnx.Shape{batch})
	if g.Threshold == nil {
		b.Output(AcceptedOutput, b.Less(action, b.Scalar(onnx.Int64, float64(info.Actions.Len()))))
		return b.Build(onnx.BuildOptions{})
	}
	loss := b.Input(LossOutput, onnx.Float32, onnx.Shape{batch, onnx.Fix(int64(info.Actions.Len()))})
	// Invalid features give the action J(K+1), of which there is no loss; the decider refuses such a row.
	inside := b.Min(action, b.Scalar(onnx.Int64, float64(info.Actions.Len()-1)))
	chosen := b.Squeeze(b.GatherElements(loss, b.Unsqueeze(inside, 1), 1), 1)
	threshold := b.NamedConst("threshold", onnx.Float32s([]int64{1}, []float32{float32(*g.Threshold)}))
	b.Output(AcceptedOutput, b.And(b.LessOrEqual(chosen, threshold), b.Less(action, b.Scalar(onnx.Int64, float64(info.Actions.Len())))))
	return b.Build(onnx.BuildOptions{})
}

// Accepts reports whether a decision with an expected loss of its pair is accepted. Without a threshold every one is.
func (g *Guarantee) Accepts(loss float32) bool {
	return g.Threshold == nil || loss <= float32(*g.Threshold)
}
