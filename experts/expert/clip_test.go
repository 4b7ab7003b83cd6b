package expert

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/progress"
)

// openClip makes the first expert of a configuration, whose paths start in dir, ready to answer with files in a folder of
// experts, and loads the first instances.
func openClip(t testing.TB, cfg *part.Config, dir, experts string, instances int) (*clip, []part.Instance) {
	t.Helper()
	b := makeParts(t, cfg, dir)
	e := b.Experts[0].Expert.(*clip)
	if err := e.Prepare(t.Context(), &part.Preparation{Folder: experts, Workers: 2, Progress: progress.Silent{}}); err != nil {
		t.Fatal(err)
	}
	batch, err := part.Sized(loadFirst(t, b, instances), nil)
	if err != nil {
		t.Fatal(err)
	}
	return e, batch
}

// clipLogitsOf are instances x families x classes.
func clipLogitsOf(t testing.TB, cfg *part.Config, dir string, instances int) []float32 {
	t.Helper()
	e, batch := openClip(t, cfg, dir, t.TempDir(), instances)
	logits, err := e.logits(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return logits
}

// TestClipFamiliesAreIndependent: what a family says does not depend on which
// others are asked, nor on the order of the levels.
func TestClipFamiliesAreIndependent(t *testing.T) {
	dir := t.TempDir()
	cfg := parttest.CLIP(t, dir, 12)
	const images = 12
	both, classes := clipLogitsOf(t, &cfg, dir, images), len(parttest.CLIPClasses())
	slices.Reverse(cfg.Advice)
	cfg.Advice[0].Fee, cfg.Advice[1].Fee = 0, 0.1
	turned := clipLogitsOf(t, &cfg, dir, images)
	cfg.Advice = cfg.Advice[1:]
	cfg.Advice[0].Fee = 0
	alone := clipLogitsOf(t, &cfg, dir, images)
	for n := range images {
		one, three := both[2*n*classes:(2*n+1)*classes], both[(2*n+1)*classes:(2*n+2)*classes]
		if furthest(one, turned[(2*n+1)*classes:(2*n+2)*classes]) > 1e-5 || furthest(three, turned[2*n*classes:(2*n+1)*classes]) > 1e-5 {
			t.Errorf("instance %d: the order of levels matters", n)
		}
		if furthest(one, alone[n*classes:(n+1)*classes]) > 1e-5 {
			t.Errorf("instance %d: another family matters", n)
		}
		if one[3] != one[5] {
			t.Errorf("instance %d: classes of one name have logits %v and %v", n, one[3], one[5])
		}
		if furthest(one, three) == 0 {
			t.Errorf("instance %d: both families say the same", n)
		}
	}
}

// TestClipClassesPermute: classes in another order have their logits there.
func TestClipClassesPermute(t *testing.T) {
	const images = 6
	dir := t.TempDir()
	cfg := parttest.CLIP(t, dir, images)
	want := clipLogitsOf(t, &cfg, dir, images)
	b := parttest.Read(t, filepath.Join(dir, "classes.json"))
	parttest.Write(t, filepath.Join(dir, "classes.json"), strings.NewReplacer(`"0":`, `"4":`, `"4":`, `"0":`).Replace(b))
	got, classes := clipLogitsOf(t, &cfg, dir, images), len(parttest.CLIPClasses())
	for row := 0; row < len(want); row += classes {
		want[row], want[row+4] = want[row+4], want[row]
	}
	if d := furthest(got, want); d > 1e-5 {
		t.Errorf("logits are %v off", d)
	}
}

// TestClipLevelsShareFamilies: a level that shows the same templates as another
// gives the same answers, in one column of the graph.
func TestClipLevelsShareFamilies(t *testing.T) {
	dir := t.TempDir()
	cfg := parttest.CLIP(t, dir, 8)
	cfg.Advice = append(cfg.Advice, parttest.CLIPPrompts("again", 0.2, 1))
	e, batch := openClip(t, &cfg, dir, t.TempDir(), 8)
	if len(e.families) != 2 {
		t.Fatalf("%d families", len(e.families))
	}
	shown := make([][]part.AdvicePayload, 3)
	for k, count := range []int{1, 3, 1} {
		if k != 1 {
			shown[k] = part.ShowAll(batch, part.AdvicePayload{Prompts: []string{"art of a {}"}[:count]})
		}
	}
	answers, err := e.Predict(t.Context(), batch, shown)
	if err != nil {
		t.Fatal(err)
	}
	if answers[1] != nil {
		t.Error("a level that is not shown has answers")
	}
	for n := range batch {
		if !slices.Equal(answers[0][n].Probabilities, answers[2][n].Probabilities) || answers[0][n].Label != answers[2][n].Label {
			t.Errorf("instance %d: %+v and %+v", n, answers[0][n], answers[2][n])
		}
	}
	shown[0] = part.ShowAll(batch, part.AdvicePayload{Prompts: []string{"no {}"}})
	if _, err := e.Predict(t.Context(), batch, shown); err == nil || !strings.Contains(err.Error(), "is shown prompts that no level has") {
		t.Errorf("got %v", err)
	}
}
