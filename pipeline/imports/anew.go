package imports

import (
	"context"
	"errors"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/onnx/hf"
	"pipe/onnx/ort"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/textlog"
)

// Log imports a decision log. With texts, a folder of the texts of decisions, the features are made anew by an encoder of texts: a
// folder, an .onnx file, or a name in the local Hugging Face cache. Decisions without a text are left out and counted.
func Log(ctx context.Context, o fromlog.Options, texts storage.Location, encoder string, runtime ort.Config) (_ *fromlog.Result, err error) {
	if texts.IsZero() {
		return fromlog.Import(ctx, o)
	}
	known, err := textlog.Read(texts.String())
	if err != nil {
		return nil, err
	}
	rt, err := ort.Open(runtime)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	name, err := hf.Fetch(ctx, encoder)
	if err != nil {
		return nil, err
	}
	e, err := featurize.OpenTextEncoder(rt, name, featurize.DefaultTextEncoderOptions())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	source := costs.FeatureSource{Name: identity.EncoderName(featurize.InputText, e.Name()), Dim: e.Dim()}
	o.Anew = &fromlog.Anew{
		Features: source, Digest: identity.Digest(identity.Block{Name: source.Name, Dim: source.Dim, Models: []string{e.Digest()}}),
		Text:   func(d decisionlog.Decision) (string, bool) { return known.Of(d.Record) },
		Encode: func(dst []float32, text string) error { return e.Encode(ctx, dst, []string{text}) },
	}
	r, err := fromlog.Import(ctx, o)
	if r != nil {
		r.DamagedTexts = known.Damaged
	}
	return r, err
}
