package policy

import (
	"fmt"

	"pipe/costs"
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
	mine, theirs := info.Actions.Features.Name, t.Actions.Features.Name
	if mine != "" && theirs != "" && mine != theirs {
		return fmt.Errorf("policy was trained on features %q, the tensor has %q", mine, theirs)
	}
	mine, theirs = info.Actions.Digests[costs.FeatureDigest], t.Actions.Digests[costs.FeatureDigest]
	if mine != "" && theirs != "" && mine != theirs {
		return fmt.Errorf("policy was trained on features with digest %s, the tensor's have %s", mine, theirs)
	}
	return nil
}

// Matches is [Info.Matches] for a policy that has not been written yet.
func (p *Policy) Matches(t *costs.Tensor) error {
	info := Info{Actions: p.Actions, Dim: p.FeatureDim()}
	return info.Matches(t)
}
