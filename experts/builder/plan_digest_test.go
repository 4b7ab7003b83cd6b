package builder

import (
	"testing"

	"pipe/experts/builder/part"
)

// derivedFeature is a feature that the expert vit computes.
type derivedFeature struct{ part.Feature }

func (derivedFeature) Name() string { return "expert vit" }
func (derivedFeature) Dim() int     { return 10 }
func (derivedFeature) From() string { return part.ExpertName("vit") }

// TestFeatureDigestFollowsTheModel: the digest changes with the bytes of the
// model behind a feature, and with nothing that belongs to one set of
// instances or to another expert.
func TestFeatureDigestFollowsTheModel(t *testing.T) {
	digest := func(change map[string]string) string {
		p := &plan{cfg: &part.Config{Features: []part.Part{{Kind: "expert"}}}, Build: &part.Build{Inputs: part.Inputs{
			`model of expert "vit"`: "a", `model data w.bin of expert "vit"`: "b", `model of expert "vit2"`: "c",
			`settings of expert "vit"`: "d", "images": "e", "table of instances": "f",
		}}}
		p.features = []part.Feature{derivedFeature{}}
		for name, v := range change {
			p.Inputs[name] = v
		}
		return p.featureDigest()
	}
	want := digest(nil)
	for _, name := range []string{`model of expert "vit2"`, "images", "table of instances", `settings of expert "vit"`} {
		if got := digest(map[string]string{name: "x"}); got != want {
			t.Errorf("the digest depends on %s", name)
		}
	}
	for _, name := range []string{`model of expert "vit"`, `model data w.bin of expert "vit"`} {
		if got := digest(map[string]string{name: "x"}); got == want {
			t.Errorf("the digest does not depend on %s", name)
		}
	}
}
