package costs

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// No text is in two splits, and the draw depends on its arguments only. With
// enough single rows, the shares of every label are within one row of those
// requested.
func TestGroupsStayTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels, texts := drawnTexts(t)
		val, test := rapid.Float64Range(0.1, 0.45).Draw(t, "val"), rapid.SampledFrom([]float64{0, 0.1, 0.3}).Draw(t, "test")
		seed := rapid.Uint64().Draw(t, "seed")
		splits := drawGroups(len(labels), labels, texts, val, test, seed)
		if !slices.Equal(splits, drawGroups(len(labels), labels, texts, val, test, seed)) {
			t.Fatal("two draws differ")
		}
		side := make(map[string]Split)
		got, all := make(map[string]*[3]float64), make(map[string]float64)
		for n, s := range splits {
			if before, ok := side[texts[n]]; ok && before != s {
				t.Fatalf("text %q is in %v and %v", texts[n], before, s)
			}
			side[texts[n]] = s
			if got[labels[n]] == nil {
				got[labels[n]] = new([3]float64)
			}
			got[labels[n]][s]++
			all[labels[n]]++
		}
		for label, counts := range got {
			for split, share := range map[Split]float64{Val: val, Test: test} {
				if math.Abs(counts[split]-share*all[label]) > 1 {
					t.Fatalf("label %s: %v rows in %v, want %v", label, counts[split], split, share*all[label])
				}
			}
		}
	})
}

// drawnTexts draws rows of three labels: some texts occur several times, with
// equal or different labels, and most once.
func drawnTexts(t *rapid.T) (labels, texts []string) {
	add := func(text string) {
		labels = append(labels, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "label"))
		texts = append(texts, text)
	}
	for g := range rapid.IntRange(0, 10).Draw(t, "groups") {
		for range rapid.IntRange(2, 4).Draw(t, "size") {
			add(fmt.Sprint("twin ", g))
		}
	}
	for n := range rapid.IntRange(200, 300).Draw(t, "alone") {
		add(fmt.Sprint("alone ", n))
	}
	return labels, texts
}
