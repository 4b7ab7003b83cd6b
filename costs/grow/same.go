package grow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"pipe/costs"
)

// Change is a property that two tensors state differently.
type Change struct {
	What string `json:"what"`
	A    string `json:"a"` // "" if the first has none
	B    string `json:"b"` // "" if the second has none
}

// String returns `name of the features: "x", not "y"`.
func (c Change) String() string {
	return fmt.Sprintf("%s: %s in one, %s in the other", c.What, quotedOrNone(c.A), quotedOrNone(c.B))
}

func quotedOrNone(s string) string {
	if s == "" {
		return "none"
	}
	return strconv.Quote(s)
}

// nameOfFeatures is the property that MergeOptions.FeatureName settles, and
// namesOfFeatures the one that tensors with the same digest of features share.
const (
	nameOfFeatures  = "name of the features"
	namesOfFeatures = "names of the features"
)

// sameDigest reports whether two files say that the same made their features,
// under the same names.
func sameDigest(a, b *input) bool {
	d := a.actions.Digests[costs.FeatureDigest]
	return d != "" && d == b.actions.Digests[costs.FeatureDigest]
}

// featureChanges compares what the features of two tensors are. Of the names of
// single features it lists the first that differs.
func featureChanges(a, b *input) ([]Change, error) {
	var list []Change
	add := func(what, x, y string) {
		if x != y {
			list = append(list, Change{what, x, y})
		}
	}
	x, y := a.actions, b.actions
	add("number of features", strconv.Itoa(a.columns.Dim), strconv.Itoa(b.columns.Dim))
	add(nameOfFeatures, x.Features.Name, y.Features.Name)
	first, err := a.featureNames()
	if err != nil {
		return nil, err
	}
	second, err := b.featureNames()
	if err != nil {
		return nil, err
	}
	list = append(list, nameChange(first, second)...)
	if d, e := x.Digests[costs.DecoderDigest], y.Digests[costs.DecoderDigest]; d != "" && e != "" {
		add("decoder of the images", d, e)
	}
	add("digest of the features", x.Digests[costs.FeatureDigest], y.Digests[costs.FeatureDigest])
	return list, nil
}

// featureNames returns the names of the features, nil if the file has none.
func (in *input) featureNames() ([]string, error) {
	text, ok := in.columns.Meta[costs.NamesKey]
	if !ok {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, &costs.DataError{File: in.path.String(), Column: costs.NamesKey, Msg: "is not a list of names", Err: err}
	}
	return names, nil
}

func nameChange(a, b []string) []Change {
	switch {
	case (a == nil) != (b == nil):
		return []Change{{namesOfFeatures, count(a), count(b)}}
	case len(a) != len(b):
		return []Change{{"number of names of features", count(a), count(b)}}
	}
	for i := range a {
		if a[i] != b[i] {
			return []Change{{fmt.Sprintf("name of feature %d", i), a[i], b[i]}}
		}
	}
	return nil
}

func count(names []string) string {
	if names == nil {
		return ""
	}
	return strconv.Itoa(len(names)) + " names"
}

// mapChanges compares two maps, without some keys.
func mapChanges(a, b map[string]string, without ...string) []Change {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	var list []Change
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if a[key] != b[key] && !slices.Contains(without, key) {
			list = append(list, Change{key, a[key], b[key]})
		}
	}
	return list
}

// inAll returns the entries that all maps have with the same value, nil if there
// are none, and the other keys.
func inAll(list []map[string]string) (same map[string]string, others []string) {
	for _, m := range list {
		for key, value := range m {
			if slices.Contains(others, key) {
				continue
			}
			agrees := func(m map[string]string) bool { v, ok := m[key]; return ok && v == value }
			if slices.ContainsFunc(list, func(m map[string]string) bool { return !agrees(m) }) {
				others = append(others, key)
				continue
			}
			if same == nil {
				same = map[string]string{}
			}
			same[key] = value
		}
	}
	slices.Sort(others)
	return same, others
}

// disagree returns the keys that maps have with different values, sorted.
func disagree(list []map[string]string) []string {
	first, keys := map[string]string{}, map[string]bool{}
	for _, m := range list {
		for key, value := range m {
			if before, seen := first[key]; seen && before != value {
				keys[key] = true
			}
			first[key] = value
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
