package cascade

import (
	"errors"
	"fmt"

	"pipe/models/policy"
	"pipe/onnx"
)

// Freeze makes a cascade with fixed prices of an any-price cascade, as policy.Freeze does of a policy: the same graph without the inputs of
// prices, which decides as m does at these prices. m is not changed. The error is [policy.ErrFixedPrices] if m has no inputs for
// prices, and else that of [Info.Price].
func Freeze(m *onnx.Model, c policy.PriceChange) (*onnx.Model, *policy.Prices, error) {
	info, err := Parse(m)
	if err != nil {
		return nil, nil, err
	}
	if info.Prices == nil {
		return nil, nil, policy.ErrFixedPrices
	}
	at, err := info.Price(c)
	if err != nil {
		return nil, nil, err
	}
	if at.Pairs != nil {
		return nil, nil, errors.New("a file with fixed prices has no place for fees of pairs")
	}
	if info.Guarantee != nil && !info.Promises(at) {
		return nil, nil, errors.New("its guarantee is for other prices: fix the prices of the cascade without a guarantee, and calibrate the result")
	}
	digest, err := policy.Digest(m, info.once())
	if err != nil {
		return nil, nil, fmt.Errorf("freeze cascade: %w", err)
	}
	out, err := m.WithConstants(at.Tensors())
	if err != nil {
		return nil, nil, fmt.Errorf("freeze cascade: %w", err)
	}
	meta := policy.FrozenMetadata(m.Metadata(), info.Actions, at, c, digest)
	if info.Guarantee == nil {
		meta[keyPrefix+formatKey] = "1"
	}
	out.SetMetadata(meta)
	if _, err := Parse(out); err != nil {
		return nil, nil, fmt.Errorf("freeze cascade: %w", err)
	}
	return out, at, nil
}
