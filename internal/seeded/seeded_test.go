package seeded

import "testing"

// TestStreamsDependOnAllTheyAreNamedBy: another seed, purpose or index gives other numbers; the same ones give the
// same.
func TestStreamsDependOnAllTheyAreNamedBy(t *testing.T) {
	first := Stream(1, "order", 2).Uint64()
	if again := Stream(1, "order", 2).Uint64(); again != first {
		t.Errorf("drew %d, then %d", first, again)
	}
	if source := Source(1, "order", 2).Uint64(); source != first {
		t.Errorf("the source draws %d, the stream %d", source, first)
	}
	for what, other := range map[string]uint64{
		"seed": Stream(2, "order", 2).Uint64(), "purpose": Stream(1, "init", 2).Uint64(), "index": Stream(1, "order", 3).Uint64(),
	} {
		if other == first {
			t.Errorf("another %s draws the same", what)
		}
	}
}
