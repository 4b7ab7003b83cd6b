package cascade

import (
	"fmt"
	"strconv"

	"pipe/models/policy"
	"pipe/onnx"
)

// Freeze makes a cascade with fixed prices of an any-price cascade, as policy.Freeze does of a policy: the same graph without the inputs of
// prices, which decides as m does at these prices. m is not changed. The errors are those of policy.Info.FixedPrices.
func Freeze(m *onnx.Model, c policy.PriceChange) (*onnx.Model, *policy.Prices, error) {
	info, err := Parse(m)
	if err != nil {
		return nil, nil, err
	}
	at, err := info.once().FixedPrices(c)
	if err != nil {
		return nil, nil, err
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
	format := formatFixed
	if info.Guarantee != nil {
		format = formatGuarantee
	}
	meta[keyPrefix+formatKey] = strconv.Itoa(format)
	out.SetMetadata(meta)
	if _, err := Parse(out); err != nil {
		return nil, nil, fmt.Errorf("freeze cascade: %w", err)
	}
	return out, at, nil
}
