package convert

import (
	"context"
	"fmt"
	"io"

	"pipe/featurize"
	"pipe/internal/atomicfile"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/pipeline/decide"
	"pipe/pipeline/inspect"
	"pipe/pipeline/stage"
)

// Run makes one ONNX file of an encoder, of an encoder and a policy, or of an any-price policy or cascade at fixed prices. The
// metadata of an encoder has everything needed to read texts or images. It runs no graph. The file appears when it is complete,
// a policy with its description beside it.
//
// If the policy records that it was trained on the features of another encoder, the error is an *stage.OptionError.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.files(ctx).Check(ctx); err != nil {
		return nil, err
	}
	var err error
	if o.Model, err = hf.Fetch(ctx, o.Model); err != nil {
		return nil, err
	}
	if o.Tokenizer, err = hf.Fetch(ctx, o.Tokenizer); err != nil {
		return nil, err
	}
	m, r, err := o.model(ctx)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Inputs, r.Outputs = inspect.Shapes(m.Inputs()), inspect.Shapes(m.Outputs())
	return r, stage.InTurn(ctx, o.Out.Dir(), func() error {
		r.Bytes, err = o.write(ctx, m, r.Kind)
		return err
	})
}

// write writes a model, and for a policy or a cascade the description beside it. It returns the size of the model in bytes.
func (o *Options) write(ctx context.Context, m *onnx.Model, kind string) (int, error) {
	if kind != featurize.EncoderKind {
		return decide.WritePolicy(ctx, o.Out, m)
	}
	b, err := m.Marshal()
	if err != nil {
		return 0, fmt.Errorf("convert %q: %w", o.Model, err)
	}
	if err := decide.RemoveDescription(ctx, o.Out); err != nil { // of a policy that the encoder replaces
		return 0, err
	}
	return len(b), atomicfile.WriteAt(ctx, o.Out, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
