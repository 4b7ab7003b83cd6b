package decide

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// Excluding the chosen pair gives the next one in the ranking; other exclusions change nothing.
func TestWithoutFollowsTheRanking(t *testing.T) {
	s := featureSample(t, orttest.Open(t, 1))
	all, err := s.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := s.router.Info().Actions
	for _, d := range all {
		ranked := s.router.Ranked(d)
		if ranked[0] != d.Action || len(ranked) != a.Len() {
			t.Fatalf("ranked %v of %+v", ranked, d)
		}
		for n := 1; n < len(ranked); n++ {
			if d.Scores[ranked[n-1]] < d.Scores[ranked[n]] {
				t.Errorf("scores %v are ranked %v", d.Scores, ranked)
			}
		}
		left := slices.DeleteFunc(ranked, func(i int) bool { j, _ := a.Pair(i); return j == d.ExpertIndex })
		if next, err := s.router.Without(d, policy.Expert(d.Expert)); err != nil || next.Action != left[0] || next.Expert != a.Experts[next.ExpertIndex].Name {
			t.Errorf("without %q: %+v, %v, want pair %d", d.Expert, next, err, left[0])
		}
		other := a.Experts[(d.ExpertIndex+1)%len(a.Experts)].Name
		if same, err := s.router.Without(d, policy.Expert(other)); err != nil || !cmp.Equal(same, excluding(d, policy.Expert(other))) {
			t.Errorf("without %q: %+v, %v", other, same, err)
		}
	}
	if _, err := s.router.Without(all[0], policy.Expert("unknown")); err == nil || !strings.Contains(err.Error(), "known are") {
		t.Errorf("an unknown expert: %v", err)
	}
}

// excluding is the decision with exclusions that do not change it.
func excluding(d Decision, excluded ...policy.Part) Decision {
	d.Excluded = excluded
	return d
}

// TestExclusionsAddUp: a loop that excludes what is down never gets it back, in whatever order and also through JSON.
func TestExclusionsAddUp(t *testing.T) {
	s := featureSample(t, orttest.Open(t, 1))
	r, ctx := s.router, t.Context()
	a := r.Info().Actions
	first, err := s.single(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if first.Excluded != nil {
		t.Errorf("a decision excludes %q", first.Excluded)
	}
	down, d := []policy.Part{}, first
	for range len(a.Experts) - 1 {
		kept, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		down, d = append(down, policy.Expert(d.Expert)), Decision{}
		if err := json.Unmarshal(kept, &d); err != nil {
			t.Fatal(err)
		}
		if d, err = r.Without(d, down[len(down)-1]); err != nil {
			t.Fatal(err)
		}
		atOnce, err := r.Without(first, down...)
		if err != nil || !cmp.Equal(d, atOnce) {
			t.Errorf("without %q: %+v, at once %+v, %v", down, d, atOnce, err)
		}
		for _, i := range r.Ranked(d) {
			if j, _ := a.Pair(i); slices.Contains(down, policy.Expert(a.Experts[j].Name)) {
				t.Errorf("without %q: ranked %s", down, a.Name(i))
			}
		}
	}
	if again, err := r.Without(d, down[0]); err != nil || !cmp.Equal(again, d) {
		t.Errorf("excluded again: %+v, %v", again, err)
	}
	if _, err := r.Without(d, policy.Expert(d.Expert)); err == nil || !strings.Contains(err.Error(), "no action remains") {
		t.Errorf("without any expert: %v", err)
	}
}

// TestForeignDecisionsAreErrors: decisions that no router made.
func TestForeignDecisionsAreErrors(t *testing.T) {
	s := featureSample(t, orttest.Open(t, 1))
	d, err := s.single(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(d *Decision){
		"the action 9, but":  func(d *Decision) { d.Action = 9 },
		"the action -1, but": func(d *Decision) { d.Action = -1 },
		"0 scores":           func(d *Decision) { d.Scores = nil },
		"unknown expert":     func(d *Decision) { d.Excluded = []policy.Part{policy.Expert("unknown")} },
	} {
		bad := d
		change(&bad)
		if _, err := s.router.Without(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
		if ranked := s.router.Ranked(bad); ranked != nil {
			t.Errorf("%s: ranked %v", want, ranked)
		}
	}
}
