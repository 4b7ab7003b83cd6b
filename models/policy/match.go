package policy

import (
	"fmt"

	"pipe/costs"
)

// Matches reports whether the policy can be applied to the rows of t: the same
// experts and advice in the same order, the same missing pairs, features of the
// same width from the same source, and the same feature digest where both are
// recorded. Fees may differ: they belong to the evaluation. The error names the
// first difference, policy first.
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

// Matches is PolicyInfo.Matches for a policy that has not been written yet.
func (p *Policy) Matches(t *costs.Tensor) error {
	info := Info{Actions: p.Actions, Dim: p.FeatureDim()}
	return info.Matches(t)
}
