package train

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"pipe/costs"
	"pipe/internal/safetext"
	"pipe/models/auto"
	"pipe/models/cascade/fit"
	"pipe/models/policy"
	"pipe/pipeline/calibrate"
	"pipe/pipeline/report"
)

// Report describes the trained policies. It is the JSON object of pipe train.
type Report struct {
	Format   int             `json:"format"`
	Tensor   string          `json:"tensor"`        // or the folder of the log
	Log      *Window         `json:"log,omitempty"` // of a log: what was learned from
	Rows     int             `json:"rows"`
	Repeats  []costs.Repeats `json:"repeats,omitempty"` // of the training rows and of the rows of the losses
	Policies []Policy        `json:"policies"`
	Auto     []auto.Report   `json:"auto,omitempty"`
	Cascades []fit.Report    `json:"cascades,omitempty"`
	Notes    []string        `json:"notes,omitempty"`   // settings that change nothing, and other prices
	Seconds  float64         `json:"seconds,omitempty"` // not in train.json, whose bytes do not depend on the machine
}

// Policy is one policy file.
type Policy struct {
	File     string             `json:"file,omitempty"`  // absent where the deployed policy stays
	Stays    string             `json:"stays,omitempty"` // the deployed policy, which the learned one is not shown to be better than
	Method   string             `json:"method"`
	Lambda   *float64           `json:"lambda,omitempty"` // absent for l2d, which has none, and for any-price policies
	Prices   *policy.PriceRange `json:"prices,omitempty"` // of an any-price policy; its losses are at lambda 1
	Seed     *uint64            `json:"seed,omitempty"`   // absent for averaged seeds
	TrueLoss *float64           `json:"true_loss,omitempty"`
	Fallback string             `json:"fallback,omitempty"` // the pair that the guard fell back to
	Warm     string             `json:"warm,omitempty"`     // the older policy that this file is
	// Guarantee is what the file promises, and what else it could; nil: nothing.
	Guarantee *calibrate.Report `json:"guarantee,omitempty"`
	OneShot   bool              `json:"one_shot,omitempty"` // of a cascade: the guard lets it accept every first answer
}

// Stays reports whether no policy of the recipe was exported, because the deployed one is not shown to be worse.
func (r *Report) Stays() bool {
	stays := func(p Policy) bool { return p.Stays != "" }
	return slices.ContainsFunc(r.Policies, stays) && !slices.ContainsFunc(r.Policies, func(p Policy) bool { return p.Method == auto.Name && p.Stays == "" })
}

// WriteJSON writes the report as one indented JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// WriteText writes the report for a reader at a terminal.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "policy\ttrue loss\tremark")
	for _, p := range r.Policies {
		remark := ""
		if p.Fallback != "" {
			remark = "guard: always " + safetext.Line(p.Fallback)
		}
		if p.Stays != "" {
			p.File, remark = "(none)", fmt.Sprintf("lambda %g: the deployed policy stays, %s", *p.Lambda, safetext.Line(p.Stays))
		}
		if p.OneShot {
			remark = "guard: accepts every first answer"
		}
		if p.Warm != "" {
			remark = "the older policy " + safetext.Line(p.Warm)
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\n", p.File, report.Number(p.TrueLoss), remark)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, p := range r.Policies {
		if p.Guarantee != nil {
			fmt.Fprintf(&b, "\n%s: ", p.File)
			if err := p.Guarantee.WriteText(&b); err != nil {
				return err
			}
		}
	}
	r.Log.write(&b)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\nnote: %s\n", safetext.Line(note))
	}
	for _, a := range r.Auto {
		writeAuto(&b, a)
	}
	for _, c := range r.Cascades {
		writeCascade(&b, c)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
