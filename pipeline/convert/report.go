package convert

import (
	"io"
	"strings"

	"pipe/featurize"
	"pipe/internal/safetext"
	"pipe/pipeline/decide"
	"pipe/pipeline/inspect"
)

// Report describes the file that Convert wrote. It is the JSON object of pipe convert --json.
type Report struct {
	Format  int                   `json:"format"`
	Out     string                `json:"out"`
	Kind    string                `json:"kind"` // encoder, policy if one was merged or fixed, or cascade
	Bytes   int                   `json:"bytes"`
	Encoder featurize.EncoderInfo `json:"encoder,omitzero"` // zero if there is none
	Policy  string                `json:"policy,omitempty"` // the file that was merged, or whose prices were fixed
	Prices  *decide.UsedPrices    `json:"prices,omitempty"` // that were fixed
	Inputs  []string              `json:"inputs"`
	Outputs []string              `json:"outputs"`
}

// policyKind is the kind of a file with a policy in it.
const policyKind = "policy"

// WriteText writes the report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	b := safetext.Titled(r.Out, r.Kind)
	if r.Encoder.Input != "" {
		inspect.AddEncoder(b, "encoder", &r.Encoder)
	}
	b.Add("policy", "%s", r.Policy)
	if r.Prices != nil {
		r.Prices.AddTo(b)
	}
	b.Add("inputs", "%s", strings.Join(r.Inputs, ", "))
	b.Add("outputs", "%s", strings.Join(r.Outputs, ", "))
	b.Add("digest", "%s", r.Encoder.Digest)
	b.Add("size", "%.1f MB", float64(r.Bytes)/1e6)
	return b.WriteText(w)
}
