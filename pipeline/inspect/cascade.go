package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"pipe/costs"
	"pipe/internal/safetext"
	"pipe/internal/textfile"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx"
)

// CascadeExplanation describes a cascade file.
type CascadeExplanation struct {
	Format      int                        `json:"format"`
	Kind        string                     `json:"kind"`
	File        string                     `json:"file"`
	Verdict     string                     `json:"verdict"` // in plain words
	Lambda      float64                    `json:"lambda"`
	Stages      int                        `json:"stages"` // pairs that may be executed on a row
	Facts       []costs.Fact               `json:"facts"`  // what is seen of an answer
	States      [][]string                 `json:"states"` // executed pairs of every state that has a policy; the first is empty
	Features    string                     `json:"features,omitempty"`
	Dim         int                        `json:"dim"`
	Names       []string                   `json:"feature_names,omitempty"`
	Experts     []costs.Expert             `json:"experts"`
	Advice      []costs.Advice             `json:"advice"`
	Fees        map[string]float64         `json:"fees"` // deployed fee of every available pair
	Unavailable []string                   `json:"unavailable,omitempty"`
	LeftOut     []string                   `json:"left_out,omitempty"` // pairs that a file with fixed prices was cut without
	Prices      *policy.PriceRange         `json:"prices,omitempty"`   // of an any-price cascade: those that it was checked on
	Guard       *cascade.Guard             `json:"guard,omitempty"`
	Guarantee   *policy.Guarantee          `json:"guarantee,omitempty"`  // what the output accepted promises
	Summary     *cascade.Summary           `json:"validation,omitempty"` // what it did on rows that training did not see
	Digests     map[string]string          `json:"digests,omitempty"`
	Info        map[string]json.RawMessage `json:"info,omitempty"` // everything else in the metadata
}

func explainCascade(path string, m *onnx.Model) (Explanation, error) {
	info, err := cascade.Parse(m)
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return nil, &costs.DataError{File: path, Err: err}
	}
	a := info.Actions
	e := &CascadeExplanation{
		Format: 1, Kind: cascade.Kind, File: path, Lambda: info.Lambda, Stages: info.Stages, Facts: info.Facts, Features: a.Features.Name,
		Dim: info.Dim, Names: info.Names, Experts: a.Experts, Advice: a.Advice, Fees: map[string]float64{}, Guard: info.Guard, Guarantee: info.Guarantee,
		Digests: a.Digests, Info: map[string]json.RawMessage{}, Prices: info.Prices,
	}
	if e.LeftOut, err = leftOut(a, info.Info); err != nil {
		return nil, &costs.DataError{File: path, Err: err}
	}
	fees := a.Fees(info.Lambda)
	for i, exists := range a.Mask() {
		if exists {
			e.Fees[a.Name(i)] = fees[i]
		} else {
			e.Unavailable = append(e.Unavailable, a.Name(i))
		}
	}
	for _, state := range info.States {
		names := []string{}
		for _, i := range state {
			names = append(names, a.Name(i))
		}
		e.States = append(e.States, names)
	}
	for key, value := range info.Info {
		if key != cascade.GuardKey && key != cascade.NamesKey {
			e.Info[key] = asJSON(value)
		}
	}
	var s cascade.Summary
	if raw, ok := e.Info[cascade.SummaryKey]; ok && json.Unmarshal(raw, &s) == nil && s.Rows > 0 && len(s.Stages) == info.Stages {
		e.Summary = &s
		delete(e.Info, cascade.SummaryKey)
	}
	e.Verdict = e.verdict(info.OneShot())
	return e, nil
}

// verdict says in words what the cascade looks at, which pairs come first, and when it goes on.
func (e *CascadeExplanation) verdict(oneShot bool) string {
	var b strings.Builder
	if oneShot {
		b.WriteString("executes one pair and accepts its answer, whatever is seen of it")
	} else {
		fmt.Fprintf(&b, "executes a pair, looks at the %s of its answer, and accepts it or executes another pair, at most %d of them",
			safetext.List(e.Facts, func(f costs.Fact) string { return f.Name }), e.Stages)
	}
	if g := e.Guard; g != nil && g.Rows > 0 {
		verdict := "so it was exported"
		if g.Fallback {
			verdict = "so the guard lets it accept every first answer"
		}
		fmt.Fprintf(&b, ": on %d rows that training did not see, looking gained %+.4f over the better of the policy that decides once and the best fixed pair, with a lower bound of %+.4f at %g%%, %s",
			g.Rows, g.Gain, g.LowerBound, 100*g.Confidence, verdict)
	}
	return b.String()
}

// habits says which pairs come first, and when the cascade goes on, a line each.
func habits(s *cascade.Summary) (lines []string) {
	share := func(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }
	for _, f := range s.First {
		line := fmt.Sprintf("%s first, on %s of the rows", f.Pair, share(f.Share))
		switch {
		case f.Accepted == 1:
			line += ": its answer is always accepted"
		default:
			line += fmt.Sprintf(": its answer is accepted at once on %s of these, and next come %s", share(f.Accepted),
				safetext.List(f.Next, func(n cascade.NextPair) string { return fmt.Sprintf("%s (%s)", n.Pair, share(n.Share)) }))
		}
		for _, n := range f.Seen {
			if n.Accepted != nil && n.WentOn != nil {
				line += fmt.Sprintf("; %s is %.3g on average where it accepts, and %.3g where it goes on", n.Fact, *n.Accepted, *n.WentOn)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// WriteText writes the explanation for a terminal.
func (e *CascadeExplanation) WriteText(w io.Writer) error {
	b := safetext.Titled(e.File, "cascade")
	b.Add("in words", "%s", e.Verdict)
	b.Add("looks at", "%s", safetext.List(e.Facts, func(f costs.Fact) string {
		if f.Category() {
			return fmt.Sprintf("%s (one of %d values, and whether two answers agree)", f.Name, len(f.Values))
		}
		return f.Name + " (a number)"
	}))
	if s := e.Summary; s != nil {
		heading := fmt.Sprintf("on %d %s rows", s.Rows, s.Split)
		stages := fmt.Sprintf("cost %.4f per row; executes one pair on %.1f%%", s.TrueLoss, 100*s.Stages[0])
		for n := range s.Stages[1:] {
			stages += fmt.Sprintf(", %d on %.1f%%", n+2, 100*s.Stages[n+1])
		}
		b.Add(heading, "%s", stages)
		for _, line := range habits(s) {
			b.Add("", "%s", safetext.Line(line))
		}
	}
	if g := e.Guard; g != nil && g.Rows > 0 {
		means := ""
		if len(g.Prices) > 0 {
			means = fmt.Sprintf(", means over %d prices", len(g.Prices))
		}
		b.Add("guard", "on %d held-out rows%s: cascade %.4f, policy that decides once %.4f, best fixed pair %.4f", g.Rows, means, g.Cascade, g.OneShot, g.Fixed)
	}
	if e.Guarantee != nil {
		for i, line := range e.Guarantee.Promise() {
			b.Add(map[bool]string{true: "guarantee"}[i == 0], "%s", safetext.Line(line))
		}
	}
	b.Add("states", "%d, of at most %d executed pairs", len(e.States), e.Stages)
	b.Add("regime", "lambda %g", e.Lambda)
	b.Add("features", "%d%s", e.Dim, safetext.After(" from ", e.Features))
	if len(e.Names) > 0 {
		b.Add("feature names", "%s", textfile.Listed(e.Names, 12))
	}
	b.Add("experts", "%s", safetext.List(e.Experts, func(x costs.Expert) string { return fmt.Sprintf("%s (fee %g)", x.Name, x.Fee) }))
	b.Add("advice", "%s", safetext.List(e.Advice, func(x costs.Advice) string { return fmt.Sprintf("%s (deployed fee %g)", x.Name, e.Lambda*x.Fee) }))
	addPrices(b, e.Prices)
	b.Add("left out", "%s", strings.Join(e.LeftOut, ", "))
	b.Add("unavailable", "%s", strings.Join(e.Unavailable, ", "))
	b.AddPairs("trained from", e.Digests)
	writeInfo(b, e.Info)
	return b.WriteText(w)
}
