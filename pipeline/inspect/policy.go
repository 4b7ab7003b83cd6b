package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/pipeline/report"
)

// PolicyExplanation describes a policy file.
type PolicyExplanation struct {
	Format      int                        `json:"format"`
	Kind        string                     `json:"kind"`
	File        string                     `json:"file"`
	Method      string                     `json:"method"`
	Recipe      string                     `json:"recipe"`
	Decoder     string                     `json:"decoder"`
	Lambda      float64                    `json:"lambda"`
	Tau         float64                    `json:"tau"`
	Members     int                        `json:"members"` // networks averaged
	Features    string                     `json:"features,omitempty"`
	Dim         int                        `json:"dim"`
	Names       []string                   `json:"feature_names,omitempty"`
	Experts     []costs.Expert             `json:"experts"`
	Advice      []costs.Advice             `json:"advice"`
	Fees        map[string]float64         `json:"fees"` // deployed fee of every available pair
	Unavailable []string                   `json:"unavailable,omitempty"`
	LeftOut     []string                   `json:"left_out,omitempty"`  // pairs that a file with fixed prices was cut without
	Fixed       string                     `json:"fixed,omitempty"`     // the pair of a policy that always chooses one
	Verdict     string                     `json:"verdict"`             // one sentence in plain words
	Guarantee   *policy.Guarantee          `json:"guarantee,omitempty"` // what the output accepted promises
	Prices      *policy.PriceRange         `json:"prices,omitempty"`    // of an any-price policy: those that it was checked on
	Usage       decide.UsageList           `json:"usage,omitempty"`     // of a policy with usage: the prices of its training
	Blend       []policy.Member            `json:"blend,omitempty"`     // regressors that were candidates for the policy
	Blends      []policy.Member            `json:"blends,omitempty"`    // rules by which they could be blended
	Calibration *policy.Calibration        `json:"calibration,omitempty"`
	Support     []policy.Support           `json:"support,omitempty"` // on how many training rows a log executed every pair
	Digests     map[string]string          `json:"digests,omitempty"`
	Info        map[string]json.RawMessage `json:"info,omitempty"`    // everything else in the metadata
	Encoder     *featurize.EncoderInfo     `json:"encoder,omitempty"` // that was merged in front
}

func explainPolicy(ctx context.Context, at storage.Location, _ Options) (Explanation, error) {
	f, err := decide.ReadPolicy(ctx, at)
	if err != nil {
		return nil, err
	}
	info, a := f.Info, f.Info.Actions
	e := &PolicyExplanation{
		Format: 1, Kind: "policy", File: at.String(), Method: info.Method, Recipe: info.Recipe, Decoder: string(info.Decoder),
		Lambda: info.Lambda, Tau: info.Tau, Members: info.Members, Features: a.Features.Name, Dim: info.Dim, Names: info.Names,
		Experts: a.Experts, Advice: a.Advice, Fees: map[string]float64{}, Digests: a.Digests, Info: map[string]json.RawMessage{},
	}
	mask := a.Mask()
	for i, fee := range a.Fees(info.Lambda) {
		if mask[i] {
			e.Fees[a.Name(i)] = fee
		} else {
			e.Unavailable = append(e.Unavailable, a.Name(i))
		}
	}
	e.Encoder, e.Prices, e.Guarantee = f.About, info.Prices, info.Guarantee
	if info.Usage != nil {
		e.Usage = decide.ListUsage(info.Actions, info.Usage.Prices)
	}
	if e.LeftOut, err = leftOut(info.Actions, info.Info); err != nil {
		return nil, &costs.DataError{File: at.String(), Err: err}
	}
	for key, value := range info.Info {
		if key != policy.NamesKey {
			e.Info[key] = asJSON(value)
		}
	}
	e.takeTraining()
	if info.Fixed >= 0 {
		e.Fixed = a.Name(info.Fixed)
	}
	e.Verdict = e.verdict()
	return e, nil
}

// takeTraining reads what the metadata say of the blend. Metadata of another form stay as they are.
func (e *PolicyExplanation) takeTraining() {
	if raw, ok := e.Info[policy.BlendKey]; ok && json.Unmarshal(raw, &e.Blend) == nil {
		delete(e.Info, policy.BlendKey)
	}
	if raw, ok := e.Info[policy.BlendsKey]; ok && json.Unmarshal(raw, &e.Blends) == nil {
		delete(e.Info, policy.BlendsKey)
	}
	if raw, ok := e.Info[policy.SupportKey]; ok && json.Unmarshal(raw, &e.Support) == nil {
		delete(e.Info, policy.SupportKey)
	}
	if raw, ok := e.Info[policy.CalibrationKey]; ok && json.Unmarshal(raw, &e.Calibration) == nil {
		delete(e.Info, policy.CalibrationKey)
	}
}

// leftOut names the pairs that exist and that a file with fixed prices was cut without.
func leftOut(a *costs.Actions, meta map[string]string) (names []string, err error) {
	text, ok := meta[policy.WithoutKey]
	if !ok {
		return nil, nil
	}
	var without []policy.Part
	left := []bool(nil)
	if err = json.Unmarshal([]byte(text), &without); err == nil {
		left, err = policy.Without(a, without)
	}
	if err != nil {
		return nil, fmt.Errorf("metadata pipe.%s: %w", policy.WithoutKey, err)
	}
	for i, exists := range a.Mask() {
		if exists && !left[i] {
			names = append(names, a.Name(i))
		}
	}
	return names, nil
}

// verdict describes the policy in one sentence.
func (e *PolicyExplanation) verdict() string {
	chooses := fmt.Sprintf("this policy chooses among %d pairs by the features", len(e.Fees)-len(e.LeftOut))
	if e.Fixed != "" {
		chooses = fmt.Sprintf("this policy always plays %s, whatever the features", e.Fixed)
	}
	var g policy.Guard
	if raw, ok := e.Info["guard"]; !ok || json.Unmarshal(raw, &g) != nil {
		return chooses
	}
	switch {
	case g.Fallback && e.Prices != nil:
		chooses = "this policy takes the best fixed pair of every price, whatever the features"
	case g.Fallback && e.Fixed == "":
		chooses = fmt.Sprintf("this policy always plays %s, whatever the features", g.Fixed)
	}
	if g.Rows == 0 {
		return chooses
	}
	found := fmt.Sprintf("on %d rows%s that training did not see, the learned policy gained %+.4f over %s, with a lower bound of %+.4f at %g%%",
		g.Rows, report.InSets(g), g.Gain, g.Against(), g.LowerBound, 100*g.Confidence)
	if g.Fallback {
		_, reason := g.Verdict()
		return fmt.Sprintf("%s: %s; the guard fell back to the best fixed pair: %s", chooses, found, reason)
	}
	return fmt.Sprintf("%s: %s%s", chooses, found, safetext.After(", which is ", g.Note()))
}

// WriteText writes the explanation for a terminal.
func (e *PolicyExplanation) WriteText(w io.Writer) error {
	b := safetext.Titled(e.File, "policy")
	b.Add("in words", "%s", e.Verdict)
	if e.Guarantee != nil {
		for i, line := range e.Guarantee.Promise() {
			b.Add(map[bool]string{true: "guarantee"}[i == 0], "%s", line)
		}
	}
	method := fmt.Sprintf("%s, recipe %s, decoder %s", e.Method, e.Recipe, e.Decoder)
	if e.Members > 0 {
		method += fmt.Sprintf(", %d networks averaged", e.Members)
	}
	b.Add("method", "%s", method)
	e.writeBlend(b)
	b.Add("regime", "lambda %g, tau %g", e.Lambda, e.Tau)
	b.Add("features", "%d%s", e.Dim, safetext.After(" from ", e.Features))
	if len(e.Names) > 0 {
		b.Add("feature names", "%s", textfile.Listed(e.Names, 12))
	}
	if e.Encoder != nil {
		AddEncoder(b, "encoder inside", e.Encoder)
	}
	b.Add("experts", "%s", safetext.List(e.Experts, func(x costs.Expert) string { return fmt.Sprintf("%s (fee %g)", x.Name, x.Fee) }))
	b.Add("advice", "%s", safetext.List(e.Advice, func(x costs.Advice) string { return fmt.Sprintf("%s (deployed fee %g)", x.Name, e.Lambda*x.Fee) }))
	addPrices(b, e.Prices)
	for _, line := range decide.UsageLines(e.Experts, e.Usage) {
		b.Add("usage", "%s", line)
	}
	e.writeSupport(b)
	b.Add("left out", "%s", strings.Join(e.LeftOut, ", "))
	b.Add("unavailable", "%s", strings.Join(e.Unavailable, ", "))
	b.AddPairs("trained from", e.Digests)
	writeInfo(b, e.Info)
	return b.WriteText(w)
}

// addPrices says which prices an any-price policy or cascade was checked for; nil: it has fixed prices.
func addPrices(b *safetext.Fields, r *policy.PriceRange) {
	if r != nil {
		b.Add("any price", "lambda and fees are inputs, and the ones above those of the training; checked for lambda from %g to %g, and for one fee from %g to %g times that of the training",
			r.Lambda[0], r.Lambda[1], r.Fee[0], r.Fee[1])
	}
}

// writeSupport says on how many training rows a log executed every pair.
func (e *PolicyExplanation) writeSupport(b *safetext.Fields) {
	head := "executed"
	for _, s := range e.Support {
		b.Add(head, "%s: on %d training rows%s", safetext.Line(s.Pair), s.Rows, map[bool]string{true: ", which are too few: never chosen"}[s.Untried])
		head = ""
	}
}

// writeBlend lists the candidates for a blend, and says how well its estimates are calibrated.
func (e *PolicyExplanation) writeBlend(b *safetext.Fields) {
	head := "blend of"
	for _, m := range e.Blend {
		weight := "not in the blend"
		if m.Weight > 0 {
			weight = fmt.Sprintf("weight %.2f", m.Weight)
		}
		b.Add(head, "%s: %s; alone %.4f, standard error %.4f", safetext.Line(m.Name), weight, m.Loss, m.Error)
		head = ""
	}
	head = "blended by"
	for _, m := range e.Blends {
		chosen := "not chosen"
		if m.Weight > 0 {
			chosen = "chosen"
		}
		b.Add(head, "%s: %s; %.4f, standard error %.4f", safetext.Line(m.Name), chosen, m.Loss, m.Error)
		head = ""
	}
	if c := e.Calibration; c != nil {
		b.Add("calibration", "error of the expected losses %.4f, without the curve %.4f", c.Error, c.Raw)
	}
}

// writeInfo lists the rest of the metadata; nested JSON becomes lines of dotted names.
func writeInfo(b *safetext.Fields, info map[string]json.RawMessage) {
	flat := map[string]string{}
	for key, raw := range info {
		var value any
		if err := json.Unmarshal(raw, &value); err == nil {
			flatten(flat, key, value)
		}
	}
	b.AddPairs("metadata", flat)
}
