package network

import (
	"slices"
	"testing"
)

func TestFitStandardizer(t *testing.T) {
	features := []float32{1, 7, 100, 3, 7, -100, 99, 99, 99}
	s := FitStandardizer(features, 3, []int{0, 1})
	got := s.Apply(features[:6], 3)
	if !slices.Equal(got, []float32{-1, 0, 1, 1, 0, -1}) {
		t.Errorf("standardised %v", got)
	}
	if far := s.Apply([]float32{1, 1e30, 0}, 3); far[1] != 0 {
		t.Errorf("a column that never varied becomes %v", far[1])
	}
	if same := (Standardizer{}).Apply(features, 3); !slices.Equal(same, features) {
		t.Errorf("the empty standardizer changes %v to %v", features, same)
	}
}
