package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/internal/atomicfile"
	"pipe/internal/safetext"
	"pipe/onnx/hf"
	"pipe/pipeline/decide"
	"pipe/pipeline/inspect"
	"pipe/pipeline/stage"
)

// ConvertOptions are the options of Convert.
type ConvertOptions struct {
	Model      string              // a Hugging Face model folder, an .onnx file, or org/name in the local cache
	Out        string              // the ONNX file
	Merge      string              // a policy to put behind the encoder; empty: the encoder alone
	Tower      string              // of a model with encoders of texts and of images, text or vision; empty: vision
	MaxLength  int                 // of texts: most tokens; 0: as the model says
	Tokenizer  string              // of texts: tokenizer.json or the folder that holds it; empty: the model's own
	Preprocess *pixel.Preprocess   // of images; nil: as the model says
	Output     string              // of images: the output that is the vector; empty: the only one
	Precision  featurize.Precision // of images; empty: as an encoder's file has it, else float32
	// Prices are those of the policy with fixed prices that is made of an any-price policy. The model is then this policy,
	// or Merge is.
	Prices decide.PriceChange
}

// DefaultConvertOptions takes the model as it is.
func DefaultConvertOptions() ConvertOptions { return ConvertOptions{} }

// Validate reports every problem at once.
func (o ConvertOptions) Validate() error {
	var problems []error
	if o.Model == "" || o.Out == "" {
		problems = append(problems, errors.New("convert: a model and an output file are needed"))
	}
	if o.MaxLength < 0 {
		problems = append(problems, fmt.Errorf("convert: texts of %d tokens", o.MaxLength))
	}
	if o.Tower != "" && featurize.TowerInputs()[hf.Tower(o.Tower)] == "" {
		problems = append(problems, fmt.Errorf("convert: tower %q: known are %s", o.Tower, knownTowers()))
	}
	if err := o.Precision.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("convert: %w", err))
	}
	if o.Preprocess != nil {
		if err := o.Preprocess.Validate(); err != nil {
			problems = append(problems, fmt.Errorf("convert: preprocessing: %w", err))
		}
	}
	return errors.Join(problems...)
}

// ConvertReport describes the file that Convert wrote. It is the JSON object of pipe convert --json.
type ConvertReport struct {
	Format  int                   `json:"format"`
	Out     string                `json:"out"`
	Kind    string                `json:"kind"` // encoder, or policy if one was merged
	Bytes   int                   `json:"bytes"`
	Encoder featurize.EncoderInfo `json:"encoder,omitzero"` // zero if there is none
	Policy  string                `json:"policy,omitempty"` // the file that was merged, or whose prices were fixed
	Prices  *decide.UsedPrices    `json:"prices,omitempty"` // that were fixed
	Inputs  []string              `json:"inputs"`
	Outputs []string              `json:"outputs"`
}

// policyKind is the kind of a file with a policy in it.
const policyKind = "policy"

// Convert makes one ONNX file of an encoder, of an encoder and a policy, or of an any-price policy at fixed prices. The
// metadata of an encoder has everything needed to read texts or images. It runs no graph. The file appears when it is complete,
// a policy with its description beside it.
//
// If the policy records that it was trained on the features of another encoder, the error is an *stage.OptionError.
func Convert(ctx context.Context, o ConvertOptions) (*ConvertReport, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.files().Check(); err != nil {
		return nil, err
	}
	m, r, err := o.model()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Inputs, r.Outputs = inspect.Shapes(m.Inputs()), inspect.Shapes(m.Outputs())
	if r.Kind == policyKind {
		r.Bytes, err = decide.WritePolicy(o.Out, m)
		return r, err
	}
	b, err := m.Marshal()
	if err != nil {
		return nil, fmt.Errorf("convert %q: %w", o.Model, err)
	}
	if err := decide.RemoveDescription(o.Out); err != nil { // of a policy that the encoder replaces
		return nil, err
	}
	r.Bytes = len(b)
	return r, atomicfile.Write(o.Out, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteText writes the report for a terminal.
func (r *ConvertReport) WriteText(w io.Writer) error {
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

func (o ConvertOptions) files() stage.Files {
	return stage.Files{
		Reads:  slices.Concat(stage.ModelFiles(o.Model), stage.ModelFiles(o.Tokenizer), stage.NamedFiles(o.Merge)),
		Writes: []stage.Output{{Path: o.Out}, {Path: decide.DescriptionFile(o.Out)}},
	}
}
