package builder

import (
	"maps"
	"slices"
	"testing"

	"pipe/experts/builder/part"
)

// TestInputNames: what a resumed build compares, and what a tensor's digests stand for, is known by these names.
func TestInputNames(t *testing.T) {
	s := (&part.Build{Inputs: make(part.Inputs)}).Setup(`advice "a"`)
	s.Input("model", "sha256:0")
	for _, err := range []error{s.InputSettings(1), s.InputJSON("prompt", 2), s.Subpart("reformulator").InputJSON("kind", "k")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`model of advice "a"`, `settings of advice "a"`, `settings of kind of reformulator of advice "a"`, `settings of prompt of advice "a"`}
	if got := slices.Sorted(maps.Keys(s.Inputs)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
