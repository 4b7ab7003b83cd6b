package decide

import (
	"context"
	"fmt"
	"slices"

	"pipe/models/policy"
)

// The methods in this file are for servers, which compute features apart from decisions, and decide on many requests at
// once.

// Price applies a change to the prices of the policy file. One that does not fit it is an *stage.OptionError.
func (r *Router) Price(c PriceChange) (*policy.Pricing, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	return r.file.price(c)
}

// Ask is one of several calls that decide together.
type Ask = policy.Ask

// Together decides on the rows of several calls in one run; see [policy.Decider.DecideTogether]. Prices of an Ask that is
// not of an any-price policy are an error: what such a policy must not choose is masked in its answer.
func (r *Router) Together(ctx context.Context, asks []*Ask) {
	if err := r.ready(); err != nil {
		for _, a := range asks {
			a.Answer, a.Err = nil, err
		}
		return
	}
	r.decider.DecideTogether(ctx, asks)
}

// At prepares a call for other prices: nil are those of the file. finish, if it is not nil, is called with the answer.
func (r *Router) At(at *policy.Pricing) (prices []policy.Prices, finish func(*policy.Decisions) error) {
	switch {
	case at == nil:
		return nil, nil
	case r.file.Info.Prices != nil:
		return []policy.Prices{at.Prices()}, nil
	case slices.Equal(at.Available, r.file.Info.Actions.Mask()):
		return nil, nil
	}
	return nil, func(d *policy.Decisions) error {
		if err := d.Masked(at.Available); err != nil {
			return fmt.Errorf("decide: %w", err)
		}
		return nil
	}
}

// EncodeTexts computes the policy's features of texts, n x Dim. The errors are those of Texts.
func (r *Router) EncodeTexts(ctx context.Context, texts []string) ([]float32, error) {
	return r.features(ctx, InputText, len(texts), func(dst []float32) error {
		if err := checkTexts(texts); err != nil {
			return err
		}
		return r.vectors.field("")(ctx, dst, texts)
	})
}

// EncodeImages computes the policy's features of images, given the bytes of their files, n x Dim. The errors are those of
// Images.
func (r *Router) EncodeImages(ctx context.Context, files [][]byte) ([]float32, error) {
	return r.features(ctx, InputImage, len(files), func(dst []float32) error {
		return r.vectors.(*imageEncoder).encodeFiles(ctx, dst, len(files), func(i int) ([]byte, error) { return files[i], nil })
	})
}
