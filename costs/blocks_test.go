package costs

import (
	"slices"
	"testing"
)

// What does not suit the features is one block, and only several blocks are part of the digest.
func TestBlocks(t *testing.T) {
	tensor := &Tensor{Dim: 5, Actions: &Actions{Experts: []Expert{{Name: "a"}}, Advice: []Advice{{Name: "none"}}}}
	plain := tensor.Digest()
	for text, want := range map[string][]int{
		"": {5}, "[5]": {5}, "[2,3]": {2, 3}, "[2,2]": {5}, "[2,4]": {5}, "[6,-1]": {5}, "[0,5]": {5}, "[2,1.5,1.5]": {5}, "null": {5}, "{": {5},
		"[9223372036854775807,9223372036854775807,7]": {5},
	} {
		tensor.Meta = map[string]string{BlocksKey: text}
		if got := tensor.Blocks(); !slices.Equal(got, want) {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
		if (tensor.Digest() == plain) != (len(want) == 1) {
			t.Errorf("%q: digest %s, without blocks %s", text, tensor.Digest(), plain)
		}
	}
	if BlocksText([]int{2, 3}) != "[2,3]" || BlocksText([]int{5}) != "" || BlocksText(nil) != "" {
		t.Error("widths are written otherwise than they are read")
	}
}
