package decide

import (
	"context"
	"errors"

	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// textEncoder encodes texts.
type textEncoder struct{ *featurize.TextEncoder }

func openTexts(rt *ort.Runtime, inside *onnx.Model, o encoderOptions) (vectors, error) {
	e, err := openTextModel(rt, inside, o)
	if err != nil {
		return nil, err
	}
	return &textEncoder{e}, nil
}

// openTextModel opens the encoder inside the policy, if there is one, else the encoder of that name.
func openTextModel(rt *ort.Runtime, inside *onnx.Model, o encoderOptions) (*featurize.TextEncoder, error) {
	if inside != nil {
		m, err := featurize.ParseTextModel(inside)
		if err != nil {
			return nil, err
		}
		return m.Open(rt, o.workers)
	}
	settings := featurize.DefaultTextEncoderOptions()
	settings.Workers = o.workers
	return featurize.OpenTextEncoder(rt, o.name, settings)
}

func (e *textEncoder) most() int { return 0 }

// field encodes the texts themselves.
func (e *textEncoder) field(storage.Location) func(ctx context.Context, dst []float32, texts []string) error {
	return func(ctx context.Context, dst []float32, texts []string) error {
		return rowOfText(e.Encode(ctx, dst, texts))
	}
}

// rowOfText makes a *RowError of the error about a text.
func rowOfText(err error) error {
	if bad, ok := errors.AsType[*featurize.TextError](err); ok {
		return &policy.RowError{Row: bad.Index, Err: bad.Err}
	}
	return err
}
