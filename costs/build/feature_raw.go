package build

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/digest"
)

// TableFeatures makes the features of a policy that was learnt from column groups of an encoded table, for rows that
// are in no build. It is safe for concurrent use.
type TableFeatures struct{ block *groupFeatures }

// groupsName is how the features kind "groups" calls itself before it lists the groups.
const groupsName = "groups "

// NewTableFeatures returns the features that the actions of a policy name, computed by an encoder. It is an error if
// they are of another kind, if the encoder lacks a group, or if they were made by another encoder.
func NewTableFeatures(e *featurize.TabularEncoder, a *costs.Actions) (*TableFeatures, error) {
	list, ok := strings.CutPrefix(a.Features.Name, groupsName)
	if !ok || strings.Contains(list, " + ") {
		return nil, fmt.Errorf("the policy sees %q, which is not made of column groups alone", a.Features.Name)
	}
	block, err := selectGroups(e, strings.Split(list, ", "))
	if err != nil {
		return nil, err
	}
	if want := a.Digests[costs.FeatureDigest]; want != "" && want != digest.Of([]byte(featureIdentity(block, e.Digest()))) {
		return nil, fmt.Errorf("the features of the policy were made by another encoder than %s", e.Digest())
	}
	return &TableFeatures{block}, nil
}

// Dim is the number of features.
func (f *TableFeatures) Dim() int { return f.block.dim }

// Reads tells whether a column of the table has a part in the features.
func (f *TableFeatures) Reads(c featurize.TabularColumn) bool {
	return slices.Contains(f.block.groups, c.Group)
}

// Encode writes the features of one row of values, Dim numbers, into dst.
func (f *TableFeatures) Encode(dst, values []float32) { f.block.encode(dst, values) }
