package builder

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

// An expert that is added to a finished build gives the bytes of a build of all experts, and the others are not asked.
func TestAddedExpertsAreAFullBuild(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, 50)
	if _, err := w.run(ctx); err != nil {
		t.Fatal(err)
	}
	cfg := w.cfg
	cfg.Experts = slices.Clone(w.cfg.Experts[:1])
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(filepath.Join(w.dir, "base.parquet")), Dir: storage.File(w.dir)}
	if _, err := Run(ctx, cfg, o); err != nil {
		t.Fatal(err)
	}
	o.Base, o.Out = o.Out.String(), storage.File(filepath.Join(w.dir, "grown.parquet"))
	cfg = w.cfg
	cfg.Experts = slices.Clone(w.cfg.Experts)
	cfg.Experts[0].Fee, w.cfg.Experts[0].Fee = 0.7, 0.7 // fees are no inputs
	if _, err := w.run(ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds it done
		if _, err := Run(ctx, cfg, o); err != nil {
			t.Fatal(err)
		}
		if readBytes(t, o.Out.String()) != readBytes(t, w.out()) {
			t.Error("bytes differ from those of a full build")
		}
	}
	left, err := os.ReadDir(workFolder(o.Out.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if f.Name() != manifestName && f.Name() != lockName {
			t.Errorf("%s is left", f.Name())
		}
	}
}

// A base of anything else is refused.
func TestOtherBasesAreRefused(t *testing.T) {
	ctx := context.Background()
	cases := []struct {
		want   string
		change func(t *testing.T, w *world, cfg *part.Config, base string)
	}{
		{`expert 0 is "both", but "plain" in the configuration`, func(_ *testing.T, _ *world, cfg *part.Config, _ string) { slices.Reverse(cfg.Experts) }},
		{"there is none to add", func(_ *testing.T, _ *world, cfg *part.Config, _ string) { cfg.Experts = cfg.Experts[:1] }},
		{"was made from other inputs than this configuration has: ", func(t *testing.T, w *world, _ *part.Config, _ string) { w.edit(t, "instances.csv", "r7,dog", "r7,cat") }},
		{"audit and latency", func(_ *testing.T, _ *world, cfg *part.Config, _ string) { cfg.Audit = true }},
		{"there is no record of a finished build", func(t *testing.T, _ *world, _ *part.Config, base string) {
			if err := os.RemoveAll(workFolder(base)); err != nil {
				t.Fatal(err)
			}
		}},
		{"is not the file that its build wrote", func(t *testing.T, w *world, _ *part.Config, base string) {
			if err := os.WriteFile(base, []byte(readBytes(t, w.out())), 0o666); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, c := range cases {
		w := newWorld(t, 20)
		other := w.cfg
		other.Experts, other.Batch = slices.Clone(w.cfg.Experts[:1]), 4
		if _, err := Run(ctx, other, Options{Kinds: w.allKinds(), Out: storage.File(w.out()), Dir: storage.File(w.dir)}); err != nil {
			t.Fatal(err)
		}
		cfg := w.cfg
		cfg.Experts = slices.Clone(w.cfg.Experts)
		base := filepath.Join(w.dir, "base.parquet")
		first := cfg
		first.Experts = slices.Clone(cfg.Experts[:1])
		if _, err := Run(ctx, first, Options{Kinds: w.allKinds(), Out: storage.File(base), Dir: storage.File(w.dir)}); err != nil {
			t.Fatal(err)
		}
		c.change(t, w, &cfg, base)
		out := filepath.Join(w.dir, "grown.parquet")
		if _, err := Run(ctx, cfg, Options{Kinds: w.allKinds(), Out: storage.File(out), Dir: storage.File(w.dir), Base: storage.File(base).String()}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: there is an output", c.want)
		}
	}
}
