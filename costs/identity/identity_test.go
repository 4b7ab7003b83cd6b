package identity_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/featurize"
)

// TestDigestTellsBlocksApart: two lists of blocks have the same digest only if they are the same.
func TestDigestTellsBlocksApart(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{1,3}`)
	blocks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) identity.Block {
		return identity.Block{
			Name: word.Draw(t, "name"), Dim: rapid.IntRange(1, 3).Draw(t, "dim"),
			Models: rapid.SliceOfN(rapid.SampledFrom([]string{"sha256:1", "sha256:2"}), 0, 2).Draw(t, "models"),
		}
	}), 0, 3)
	text := func(list []identity.Block) string {
		var s strings.Builder
		for _, b := range list {
			s.WriteString(b.Name + "|" + strings.Repeat("i", b.Dim) + "|" + strings.Join(b.Models, ",") + ";")
		}
		return s.String()
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := blocks.Draw(t, "a"), blocks.Draw(t, "b")
		if same := identity.Digest(a...) == identity.Digest(b...); same != (text(a) == text(b)) {
			t.Fatalf("%v and %v: same digest is %v", a, b, same)
		}
	})
}

// TestCheckEncoder: input, dimension and digest of the encoder count, its name does not.
func TestCheckEncoder(t *testing.T) {
	e := featurize.EncoderInfo{Input: featurize.InputText, Name: "here", Dim: 4, Digest: "sha256:e"}
	name := identity.EncoderName(featurize.InputText, "there")
	actions := func() *costs.Actions {
		made := identity.Digest(identity.Block{Name: name, Dim: e.Dim, Models: []string{e.Digest}})
		return &costs.Actions{
			Features: costs.FeatureSource{Name: name, Dim: e.Dim},
			Digests:  map[string]string{costs.FeatureDigest: made},
		}
	}
	if err := identity.CheckEncoder(actions(), e); err != nil {
		t.Error(err)
	}
	if err := identity.CheckEncoder(&costs.Actions{}, e); err != nil {
		t.Errorf("actions without features: %v", err)
	}
	for want, change := range map[string]func(a *costs.Actions, e *featurize.EncoderInfo){
		"not the vector of one text": func(a *costs.Actions, _ *featurize.EncoderInfo) { a.Features.Name += " + pooled 4x4" },
		"made of texts":              func(_ *costs.Actions, e *featurize.EncoderInfo) { e.Input = featurize.InputImage },
		"the encoder makes 5":        func(_ *costs.Actions, e *featurize.EncoderInfo) { e.Dim = 5 },
		"another encoder":            func(_ *costs.Actions, e *featurize.EncoderInfo) { e.Digest = "sha256:f" },
	} {
		a, other := actions(), e
		change(a, &other)
		if err := identity.CheckEncoder(a, other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
