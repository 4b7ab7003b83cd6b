package trained

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
)

// claimBuild is a build over the claims of a folder with three levels of advice: no passages, one, and three.
func claimBuild(t testing.TB, dir string) *part.Build {
	t.Helper()
	b := sourceBuild(t, dir, "fever", "claims.jsonl", parttest.ClaimLabels())
	addLevel(t, b, "none", "none", nil)
	for _, top := range []int{1, 3} {
		addLevel(t, b, fmt.Sprintf("top-%d", top), "passages", map[string]any{"pages": "pages.jsonl", "top": top})
	}
	return b
}

// claimExamplesOf makes an expert of a build and returns what it learns from.
func claimExamplesOf(t testing.TB, b *part.Build, distractors string) *claimExamples {
	t.Helper()
	e, err := newEmbedding(t.Context(), expertSetup(b, "net"), map[string]any{
		"encoder": "words", "train": "train.csv", "pages": "pages.jsonl", "distractors": distractors,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e.(*learner).examples.(*claimExamples)
}

// readAll reads all examples.
func (x *claimExamples) readAll(t testing.TB, b *part.Build) ([]part.Instance, []part.AdvicePayload) {
	t.Helper()
	p := preparation(t, b)
	if err := x.embedder.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r, err := x.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	batch, shown, err := r.Read(t.Context(), 0, len(x.list))
	if err != nil {
		t.Fatal(err)
	}
	return batch, shown
}

// TestClaimExamples checks every example against what the documentation says.
func TestClaimExamples(t *testing.T) {
	claimLabels := parttest.ClaimLabels()
	for _, distractors := range []string{"both", "pages", "sentences"} {
		dir := t.TempDir()
		parttest.Claims(t, dir, 90)
		parttest.TrainingClaims(t, dir, 600)
		b := claimBuild(t, dir)
		x := claimExamplesOf(t, b, distractors)
		batch, shown := x.readAll(t, b)
		again, shownAgain := x.readAll(t, b)
		sentence := make(map[string]string)
		for _, c := range x.claims {
			sentence[c.Text] = c.Sentence
		}
		count := make(map[string]int)
		for i, in := range batch {
			label, list, gold := x.folds.Labels[x.folds.Class[i]], shown[i].Passages, 0
			for _, p := range list {
				if p.Text == sentence[in.Text] {
					gold++
				}
				count["pages"] += strings.Count(p.Text, "Thing")
				count["sentences"] += strings.Count(p.Text, "Item")
			}
			count[fmt.Sprint(label, len(list))]++
			switch n := len(list); {
			case n != 0 && n != 1 && n != 3:
				t.Fatalf("%q has %d passages", in.Text, n)
			case n == 0 && label == claimLabels[2]:
				t.Fatalf("%q alone is said to be unsettled", in.Text)
			case n > 0 && (gold == 1) != (label != claimLabels[2]) || gold > 1:
				t.Fatalf("%q, %s: %d of %d passages settle it", in.Text, label, gold, n)
			case label != claimLabels[2] && strings.Contains(sentence[in.Text], "truly") != (label == claimLabels[0]):
				t.Fatalf("%q has the label %s", in.Text, label)
			}
			if again[i].Text != in.Text || !slices.Equal(shownAgain[i].Passages, list) {
				t.Fatal("the same settings give other examples")
			}
		}
		for _, n := range []int{1, 3} { // 1,200 settled ones over three levels, two labels: 200, five deviations are 65
			for _, label := range claimLabels {
				if c := count[fmt.Sprint(label, n)]; c < 135 || c > 265 {
					t.Errorf("%s: %d examples of %s with %d passages", distractors, c, label, n)
				}
			}
		}
		if (count["pages"] > 0) != (distractors != "sentences") {
			t.Errorf("%s: %v", distractors, count)
		}
	}
}

// TestRoutedClaimsAreNotLearnt puts claims of the build among those to learn
// from, spelled otherwise.
func TestRoutedClaimsAreNotLearnt(t *testing.T) {
	dir := t.TempDir()
	parttest.Claims(t, dir, 60)
	parttest.TrainingClaims(t, dir, 200)
	list := [][]string{{"", "claim", "label", "sentence"}}
	for i := range 40 {
		list = append(list, []string{"", " " + strings.ToUpper(strings.ReplaceAll(parttest.Claim("Thing", i), " ", "  ")), "REFUTES", "secret"})
	}
	rows := &strings.Builder{}
	if err := csv.NewWriter(rows).WriteAll(list); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "train.csv")
	parttest.Write(t, file, rows.String()+strings.TrimPrefix(parttest.Read(t, file), ",claim,label,sentence\n"))
	b := claimBuild(t, dir)
	x := claimExamplesOf(t, b, "both")
	batch, shown := x.readAll(t, b)
	for i := range batch {
		if strings.HasPrefix(normal(batch[i].Text), "thing") || slices.ContainsFunc(shown[i].Passages, func(p part.Passage) bool { return p.Text == "secret" }) {
			t.Fatalf("example %d is %q with %v", i, batch[i].Text, shown[i].Passages)
		}
	}
	if got := b.Inputs[`claims left out of expert "net"`]; got != "40 that are routed on" || len(x.claims) != 200 {
		t.Errorf("%q, %d claims are left", got, len(x.claims))
	}
}
