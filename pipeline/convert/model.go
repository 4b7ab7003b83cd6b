package convert

import (
	"context"
	"fmt"

	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/onnx"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// changesPrices reports whether lambda, a fee or an exclusion is set.
func (o Options) changesPrices() bool {
	return !o.Prices.IsZero() || !o.PriceFile.IsZero()
}

// policy reads the model as a policy.
func (o Options) policy(ctx context.Context) (*decide.PolicyFile, error) {
	return decide.ReadPolicy(ctx, storage.File(o.Model))
}

// model is what the options ask for, and its report.
func (o Options) model(ctx context.Context) (*onnx.Model, *Report, error) {
	if o.changesPrices() && o.Merge.IsZero() { // only policies have prices
		f, err := o.policy(ctx)
		if err != nil {
			return nil, nil, err
		}
		return o.freeze(ctx, f)
	}
	encoder, err := readEncoderModel(o)
	if err != nil {
		if f, failed := o.policy(ctx); failed == nil && f.Info.Prices != nil {
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

// freeze makes a policy with fixed prices of the any-price policy that the options name as the model.
func (o Options) freeze(ctx context.Context, f *decide.PolicyFile) (*onnx.Model, *Report, error) {
	if !o.Merge.IsZero() {
		return nil, nil, &stage.OptionError{Err: fmt.Errorf("convert: %q is a policy, so that no policy can follow it", o.Model)}
	}
	if unused := o.unused(""); len(unused) > 0 || o.Tower != "" {
		return nil, nil, &stage.OptionError{Err: fmt.Errorf("convert: %q is a policy, which has no settings of encoders", o.Model)}
	}
	if err := f.PriceUsage(ctx, o.PriceFile, &o.Prices); err != nil {
		return nil, nil, err
	}
	fixed, used, err := f.Freeze(o.Prices)
	if err != nil {
		return nil, nil, err
	}
	return fixed.Model(), &Report{Format: 1, Out: o.Out.String(), Kind: policyKind, Policy: o.Model, Prices: used}, nil
}

// merge puts the policy of the options behind an encoder, at the prices of the options if it is an any-price policy.
func (o Options) merge(ctx context.Context, encoder *onnx.Model, r *Report) (*onnx.Model, error) {
	f, err := decide.ReadPolicy(ctx, o.Merge)
	if err != nil {
		return nil, err
	}
	if o.changesPrices() {
		if err := f.PriceUsage(ctx, o.PriceFile, &o.Prices); err != nil {
			return nil, err
		}
		if f, r.Prices, err = f.Freeze(o.Prices); err != nil {
			return nil, err
		}
	}
	r.Kind, r.Policy = policyKind, o.Merge.String()
	return f.Behind(encoder, r.Encoder)
}
