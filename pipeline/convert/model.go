package convert

import (
	"context"
	"errors"
	"fmt"

	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// changesPrices reports whether lambda, a fee or an exclusion is set.
func (o Options) changesPrices() bool {
	return !o.Prices.IsZero() || !o.PriceFile.IsZero()
}

// priced is a file that decides: a policy or a cascade.
type priced struct {
	kind     string
	anyPrice bool
	// at makes a file with fixed prices of it, as the options change them.
	at func(ctx context.Context) (*onnx.Model, *decide.UsedPrices, error)
}

// priced reads the model as a policy or a cascade.
func (o Options) priced(ctx context.Context) (*priced, error) {
	file := storage.File(o.Model)
	f, err := decide.ReadPolicy(ctx, file)
	var looks *policy.CascadeError
	switch {
	case errors.As(err, &looks):
		f, err := decide.ReadCascade(ctx, file)
		if err != nil {
			return nil, err
		}
		return &priced{cascade.Kind, f.Info.Prices != nil, func(context.Context) (*onnx.Model, *decide.UsedPrices, error) {
			fixed, used, err := f.Freeze(o.Prices, o.PriceFile)
			if err != nil {
				return nil, nil, err
			}
			return fixed.Model(), used, nil
		}}, nil
	case err != nil:
		return nil, err
	}
	return &priced{policyKind, f.Info.Prices != nil, func(ctx context.Context) (*onnx.Model, *decide.UsedPrices, error) {
		fixed, used, err := o.fixed(ctx, f)
		if err != nil {
			return nil, nil, err
		}
		return fixed.Model(), used, nil
	}}, nil
}

// fixed is a policy at the prices of the options.
func (o Options) fixed(ctx context.Context, f *decide.PolicyFile) (*decide.PolicyFile, *decide.UsedPrices, error) {
	if err := f.PriceUsage(ctx, o.PriceFile, &o.Prices); err != nil {
		return nil, nil, err
	}
	return f.Freeze(o.Prices)
}

// model is what the options ask for, and its report.
func (o Options) model(ctx context.Context) (*onnx.Model, *Report, error) {
	if o.changesPrices() && o.Merge.IsZero() { // only policies have prices
		f, err := o.priced(ctx)
		if err != nil {
			return nil, nil, err
		}
		return o.freeze(ctx, f)
	}
	encoder, err := readEncoderModel(o)
	if err != nil {
		if f, failed := o.priced(ctx); failed == nil && f.anyPrice {
			return o.freeze(ctx, f)
		}
		return nil, nil, err
	}
	m, err := encoder.Encoder()
	if err != nil {
		return nil, nil, fmt.Errorf("convert %q: %w", o.Model, err)
	}
	r := &Report{Format: 1, Out: o.Out.String(), Kind: featurize.EncoderKind, Encoder: encoder.Info()}
	if !o.Merge.IsZero() {
		m, err = o.merge(ctx, m, r)
	}
	return m, r, err
}

// freeze makes a file with fixed prices of the any-price policy or cascade that the options name as the model.
func (o Options) freeze(ctx context.Context, f *priced) (*onnx.Model, *Report, error) {
	if !o.Merge.IsZero() {
		return nil, nil, &stage.OptionError{Err: fmt.Errorf("convert: %q is a %s, so that no policy can follow it", o.Model, f.kind)}
	}
	if unused := o.unused(""); len(unused) > 0 || o.Tower != "" {
		return nil, nil, &stage.OptionError{Err: fmt.Errorf("convert: %q is a %s, which has no settings of encoders", o.Model, f.kind)}
	}
	fixed, used, err := f.at(ctx)
	if err != nil {
		return nil, nil, err
	}
	return fixed, &Report{Format: 1, Out: o.Out.String(), Kind: f.kind, Policy: o.Model, Prices: used}, nil
}

// merge puts the policy of the options behind an encoder, at the prices of the options if it is an any-price policy.
func (o Options) merge(ctx context.Context, encoder *onnx.Model, r *Report) (*onnx.Model, error) {
	f, err := decide.ReadPolicy(ctx, o.Merge)
	if err != nil {
		return nil, err
	}
	if o.changesPrices() {
		if f, r.Prices, err = o.fixed(ctx, f); err != nil {
			return nil, err
		}
	}
	r.Kind, r.Policy = policyKind, o.Merge.String()
	return f.Behind(encoder, r.Encoder)
}
