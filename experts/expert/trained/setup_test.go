package trained

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pipe/costs"
	"pipe/experts/advice"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/source"
	"pipe/featurize/tabular"
	"pipe/internal/progress"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// sourceBuild is a build over a source whose files are in a folder. Its encoder of texts is parttest.Words.
func sourceBuild(t testing.TB, dir, kind, file string, labels []string) *part.Build {
	t.Helper()
	rt := orttest.Open(t, 0)
	b := &part.Build{
		Dir: storage.File(dir), Folder: storage.File(t.TempDir()).String(), Labels: labels, SourceKind: kind, SplitKind: "column", Workers: 2, Progress: progress.Silent{}, Inputs: make(part.Inputs),
		Open:     func() (*ort.Runtime, error) { return rt, nil },
		OpenText: func(*ort.Runtime, string) (part.TextEncoder, error) { return &parttest.Words{}, nil },
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	src, err := source.Kinds()[kind](t.Context(), b.Setup("instances"), map[string]any{"file": file})
	if err != nil {
		t.Fatal(err)
	}
	b.Own(src)
	b.Source = src
	return b
}

// addLevel gives a build one more level of advice.
func addLevel(t testing.TB, b *part.Build, name, kind string, settings map[string]any) {
	t.Helper()
	s := b.Setup(part.AdviceName(name))
	s.Name = name
	a, err := advice.Kinds()[kind](t.Context(), s, settings)
	if err != nil {
		t.Fatal(err)
	}
	b.Own(a)
	b.Levels = append(b.Levels, part.Level{Name: name, Kind: kind, Advice: a})
}

// tableBuild is a build over an encoded table, of which every fourth row is for validation, with a level of advice for
// each column group. Experts learn over some folds.
func tableBuild(t testing.TB, f *tabular.Frame, groups []tabular.Group, folds int) *part.Build {
	t.Helper()
	dir := t.TempDir()
	parttest.WriteTable(t, filepath.Join(dir, "table.parquet"), f, groups)
	b := sourceBuild(t, dir, "tabular", "table.parquet", []string{"no", "fraud"})
	var splits []costs.Split
	for _, e := range b.Source.Entries() {
		s, err := costs.ParseSplit(e.Split)
		if err != nil {
			t.Fatal(err)
		}
		splits = append(splits, s)
	}
	b.SetSplits(splits)
	b.CrossFit = folds
	for _, g := range groups {
		addLevel(t, b, g.Name, "groups", map[string]any{"through": g.Name})
	}
	return b
}

// expertSetup is the setup of an expert of a build.
func expertSetup(b *part.Build, name string) *part.Setup {
	s := b.Setup(part.ExpertName(name))
	s.Name = name
	return s
}

// preparation lends a build to a Preparer, with a folder of its own.
func preparation(t testing.TB, b *part.Build) *part.Preparation {
	t.Helper()
	folder := t.TempDir()
	return &part.Preparation{
		Folder: folder, Scratch: filepath.Join(folder, "scratch"), Workers: b.Workers, Progress: b.Progress, Checkpoint: time.Minute,
		Load: b.Source.Load,
		Show: func(ctx context.Context, level int, batch []part.Instance) ([]part.AdvicePayload, error) {
			return b.Levels[level].Advice.Show(ctx, batch)
		},
		Batches: func(rows []int) [][]int { return slices.Collect(slices.Chunk(rows, 64)) },
	}
}

// prepared finishes an expert: it has learnt, and is closed after the test.
func prepared(t testing.TB, b *part.Build, e *learner) *learner {
	t.Helper()
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := e.Prepare(t.Context(), preparation(t, b)); err != nil {
		t.Fatal(err)
	}
	return e
}

// showings loads some rows of a build, and returns what every level of advice shows of them.
func showings(t testing.TB, b *part.Build, rows []int) (batch []part.Instance, shown [][]part.AdvicePayload) {
	t.Helper()
	batch, err := b.Source.Load(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range b.Levels {
		some, err := l.Advice.Show(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, some)
	}
	return batch, shown
}

// rowNumbers returns the numbers from 0 to n-1.
func rowNumbers(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}
