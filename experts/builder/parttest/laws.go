package parttest

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pipe/experts/builder/part"
)

// ExpertLaws checks laws of all experts: an answer depends only on its instance, not on its place in the batch; answers of a
// level do not depend on whether other levels are requested; a level that is not requested has no answers; and
// probabilities sum to one. shown is levels x instances.
func ExpertLaws(t testing.TB, e part.Expert, batch []part.Instance, shown [][]part.AdvicePayload) {
	t.Helper()
	ctx := context.Background()
	all, err := e.Predict(ctx, batch, shown)
	if err != nil {
		t.Fatal(err)
	}
	for k := range shown {
		alone := make([][]part.AdvicePayload, len(shown))
		alone[k] = shown[k]
		got, err := e.Predict(ctx, batch, alone)
		if err != nil || !slices.EqualFunc(got[k], all[k], same) {
			t.Errorf("level %d alone: %v; answers differ from all levels at once", k, err)
		}
		for other := range shown {
			if other != k && got[other] != nil {
				t.Errorf("level %d was not asked and answered", other)
			}
		}
	}
	reversed, levels := make([]part.Instance, len(batch)), make([][]part.AdvicePayload, len(shown))
	for n := range batch {
		reversed[len(batch)-1-n] = batch[n]
		for k := range shown {
			levels[k] = append(levels[k], shown[k][len(batch)-1-n])
		}
	}
	back, err := e.Predict(ctx, reversed, levels)
	if err != nil {
		t.Fatal(err)
	}
	for k := range shown {
		for n := range batch {
			if !sameAnswer(back[k][len(batch)-1-n], all[k][n]) {
				t.Errorf("level %d: the answer for %q depends on its place", k, batch[n].ID)
			}
		}
	}
}

// sameAnswer compares answers up to rounding, which depends on the batch.
func sameAnswer(a, b part.Prediction) bool {
	sum := 0.0
	for i, p := range a.Probabilities {
		if math.Abs(float64(p-b.Probabilities[i])) > 1e-6 {
			return false
		}
		sum += float64(p)
	}
	return a.Label == b.Label && a.Loss == b.Loss && a.Fee == b.Fee && (a.Probabilities == nil || math.Abs(sum-1) < 1e-5)
}

// same compares answers. Numbers of facts that are not known are the same.
func same(a, b part.Prediction) bool {
	if (a.Seen == nil) != (b.Seen == nil) || a.Seen != nil && fmt.Sprint(*a.Seen) != fmt.Sprint(*b.Seen) {
		return false
	}
	a.Seen, b.Seen = nil, nil
	return reflect.DeepEqual(a, b)
}
