package policy

import (
	"fmt"
	"strconv"

	"pipe/costs"
	"pipe/internal/hint"
)

// Matches returns nil if the policy can decide on the rows of t. Both need the same experts and advice in the same
// order, the same unavailable pairs, and features of the same width and source. If both record a feature digest, the
// digests must be equal. Fees may differ: an evaluation uses those of t. The error names the first difference.
func (info *Info) Matches(t *costs.Tensor) error {
	if err := info.Actions.SameSet(t.Actions); err != nil {
		return fmt.Errorf("actions of policy and tensor differ: %w", err)
	}
	if info.Dim != t.Dim {
		return fmt.Errorf("policy takes %d features, the tensor has %d", info.Dim, t.Dim)
	}
	digest, other := info.Actions.Digests[costs.FeatureDigest], t.Actions.Digests[costs.FeatureDigest]
	mine, theirs := info.Actions.Features.Name, t.Actions.Features.Name
	if mine != "" && theirs != "" && mine != theirs {
		err := fmt.Errorf("policy was trained on features %q, the tensor has %q", mine, theirs)
		if digest != "" && digest == other { // columns of the same names
			err = hint.With(err, fmt.Sprintf("if only the file has another name, set feature_name: %s in the configuration of pipe import, and import it again", strconv.Quote(mine)))
		}
		return err
	}
	if digest != "" && other != "" && digest != other {
		return fmt.Errorf("policy was trained on features with digest %s, the tensor's have %s", digest, other)
	}
	return nil
}

// Matches is [Info.Matches] for a policy that has not been written yet.
func (p *Policy) Matches(t *costs.Tensor) error {
	info := Info{Actions: p.Actions, Dim: p.FeatureDim()}
	return info.Matches(t)
}
