package expert

import (
	"slices"
	"testing"

	"pipe/experts/advice"
	"pipe/experts/builder/part"
	"pipe/experts/source"
	"pipe/internal/progress"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// makeParts makes source, levels and experts of a configuration whose paths start in dir. Its labels are those listed, or
// else those of the instances.
func makeParts(t testing.TB, cfg *part.Config, dir string) *part.Build {
	t.Helper()
	rt := orttest.Open(t, 0)
	b := &part.Build{
		SourceKind: cfg.Instances.Kind, SplitKind: cfg.Split.Kind, Dir: storage.File(dir), Folder: storage.File(t.TempDir()).String(), Workers: 2,
		Progress: progress.Silent{}, Inputs: make(part.Inputs), Open: func() (*ort.Runtime, error) { return rt, nil },
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	var err error
	if b.Source, err = source.Kinds()[cfg.Instances.Kind](t.Context(), b.Setup("instances"), cfg.Instances.Settings); err != nil {
		t.Fatal(err)
	}
	b.Own(b.Source)
	if b.Labels = cfg.Labels; b.Labels == nil {
		for _, e := range b.Source.Entries() {
			b.Labels = append(b.Labels, e.Label)
		}
		slices.Sort(b.Labels)
		b.Labels = slices.Compact(b.Labels)
	}
	for _, c := range cfg.Advice {
		a, err := advice.Kinds()[c.Kind](t.Context(), b.Setup(part.AdviceName(c.Name)), c.Settings)
		if err != nil {
			t.Fatal(err)
		}
		b.Own(a)
		b.Levels = append(b.Levels, part.Level{Name: c.Name, Kind: c.Kind, Advice: a})
	}
	for _, c := range cfg.Experts {
		s := b.Setup(part.ExpertName(c.Name))
		s.Name, s.Unavailable = c.Name, c.Unavailable
		e, err := Kinds()[c.Kind](t.Context(), s, c.Settings)
		if err != nil {
			t.Fatal(err)
		}
		b.Own(e)
		b.Experts = append(b.Experts, part.NamedExpert{Expert: e, Name: c.Name})
	}
	return b
}

// loadFirst returns the first n instances of a build.
func loadFirst(t testing.TB, b *part.Build, n int) []part.Instance {
	t.Helper()
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	batch, err := b.Source.Load(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// showAll returns what every level shows of instances: levels x instances.
func showAll(t testing.TB, b *part.Build, batch []part.Instance) [][]part.AdvicePayload {
	t.Helper()
	shown := make([][]part.AdvicePayload, len(b.Levels))
	for k, level := range b.Levels {
		var err error
		if shown[k], err = level.Advice.Show(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	return shown
}

// textSetup is the setup of an expert over claims.
func textSetup(t testing.TB) *part.Setup {
	t.Helper()
	rt := orttest.Open(t, 0)
	b := &part.Build{
		Labels: []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}, Inputs: make(part.Inputs), Progress: progress.Silent{},
		Open: func() (*ort.Runtime, error) { return rt, nil },
	}
	return b.Setup(`expert "model"`)
}
