package policies

import (
	"path/filepath"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/onnx/hf/hftest"
	"pipe/pipeline/decide/decidetest"
	"pipe/serve/policies/policiestest"
)

// Policies with the same encoder share it, by its name or, where it is in front, by its content. It stays open over a
// reload, and is closed with its last policy.
func TestPoliciesShareEncoders(t *testing.T) {
	dir, model := t.TempDir(), hftest.Folder(t)
	source := costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}
	file := func(name string) string { return filepath.Join(dir, name+".onnx") }
	for i, name := range []string{"a", "b"} {
		// The centre makes them two policies.
		if err := decidetest.WriteEncoderPolicy(file(name), hftest.Hidden, source, "", float32(i)); err != nil {
			t.Fatal(err)
		}
		policiestest.Merge(t, file(name), model, file(name+"-merged"))
	}
	s := settings(file("a"), file("b"), file("a-merged"), file("b-merged"))
	s.Encoders = map[string]string{"a": model, "b": model}
	set := open(t, s)
	users := func() (n []int) {
		for _, e := range set.encoders.open {
			n = append(n, e.users)
		}
		slices.Sort(n)
		return n
	}
	if got := users(); !slices.Equal(got, []int{2, 2}) {
		t.Fatalf("encoders have %v users", got)
	}
	first := acquire(t, set, "a")
	texts := Inputs{Texts: decidetest.Texts(20)}
	var all [][]float32
	for _, name := range set.Names() {
		p := acquire(t, set, name)
		x, err := p.Encode(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
		if !slices.Equal(x, all[0]) {
			t.Errorf("%s encodes otherwise", name)
		}
	}
	if err := decidetest.WriteEncoderPolicy(file("a"), hftest.Hidden, source, "", 5); err != nil {
		t.Fatal(err)
	}
	if c := set.Reload(t.Context()); c[0].Verdict != Replaced {
		t.Fatal(c)
	}
	if p := acquire(t, set, "a"); p.encoder != first.encoder || p == first {
		t.Error("the encoder was opened again")
	}
	if got := users(); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("encoders have %v users, one of them an old version", got)
	}
}

func TestARefusedPolicyLeavesNoEncoder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.onnx")
	if err := decidetest.WriteEncoderPolicy(path, 7, costs.FeatureSource{Name: "text small", Dim: 7}, ""); err != nil {
		t.Fatal(err)
	}
	good := write(t, dir, "good", version("1"))
	s := settings(dir)
	set := open(t, s)
	set.settings.Encoders = map[string]string{"p": hftest.Folder(t)}
	c := set.Reload(t.Context())
	if len(c) != 2 || c[0].File != good || c[1].Verdict != Refused || len(set.encoders.open) != 0 {
		t.Errorf("%v; %d encoders are open", c, len(set.encoders.open))
	}
}
