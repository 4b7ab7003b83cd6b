package builder

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/grow"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

// A build of the new instances only, or of a new expert only, is merged with the old tensor: the result has the values
// of one build of everything.
func TestMergedBuildsAreOneBuild(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, 50)
	_, whole := w.mustRun(t)
	build := func(name string, change func(cfg *part.Config)) string {
		cfg := w.cfg
		change(&cfg)
		o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(filepath.Join(w.dir, name+".parquet")), Dir: storage.File(w.dir)}
		if _, err := Run(ctx, cfg, o); err != nil {
			t.Fatal(name, err)
		}
		return o.Out.String()
	}
	lines := strings.SplitAfter(readBytes(t, filepath.Join(w.dir, "instances.csv")), "\n")
	w.write(t, "first.csv", strings.Join(lines[:31], ""))
	w.write(t, "rest.csv", lines[0]+strings.Join(lines[31:], ""))
	instances := func(file string) func(cfg *part.Config) {
		return func(cfg *part.Config) {
			cfg.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": file, "split": "split"}}
		}
	}
	experts := func(from, to int) func(cfg *part.Config) {
		return func(cfg *part.Config) { cfg.Experts = slices.Clone(w.cfg.Experts[from:to]) }
	}
	for name, c := range map[string]struct {
		files  []string
		option grow.MergeOptions
	}{
		"instances": {files: []string{build("first", instances("first.csv")), build("rest", instances("rest.csv"))}},
		"expert":    {files: []string{build("both", experts(0, 1)), build("plain", experts(1, 2))}, option: grow.MergeOptions{FillFee: true}},
	} {
		merged := filepath.Join(w.dir, name+"-merged.parquet")
		if _, err := grow.Merge(ctx, storage.Files(c.files...), storage.File(merged), c.option); err != nil {
			t.Fatal(name, err)
		}
		r, err := grow.Diff(ctx, storage.File(w.out()), storage.File(merged), grow.DiffOptions{Ignore: []string{grow.AspectProvenance}})
		if err != nil || !r.Equal {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		got, err := costs.Read(t.Context(), storage.File(merged), costs.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got.Actions.Digests, got.Meta = whole.Actions.Digests, whole.Meta
		same := filepath.Join(w.dir, name+"-same.parquet")
		if err := costs.Write(t.Context(), storage.File(same), got); err != nil {
			t.Fatal(err)
		}
		if readBytes(t, same) != readBytes(t, w.out()) {
			t.Errorf("%s: bytes differ, apart from digests and parts", name)
		}
	}
}
