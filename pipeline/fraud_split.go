package pipeline

import (
	"context"
	"fmt"
	"path/filepath"

	"pipe/costs/build"
	"pipe/onnx/ort"
)

// split runs one split through all settings and leaves its report.
func (r *fraudRun) split(ctx context.Context, draw int) (*Report, *FeaturizeReport, error) {
	folder := filepath.Join(r.out, fmt.Sprintf("split%d", draw))
	table, err := r.rows.featurize(ctx, folder, r.c.Split, draw)
	if err != nil {
		return nil, nil, err
	}
	whole := &Report{Format: ReportFormat, Benchmark: "fraud", Title: fmt.Sprintf("%s, split %d", r.title(), draw)}
	for _, s := range r.c.Settings {
		x := &fraudSetting{fraudRun: r, s: s, folder: folder, draw: draw}
		part, err := x.run(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("setting %s: %w", s.Name, err)
		}
		whole.join(s.Name, part)
		whole.Settings = merge(whole.Settings, s.Name, part.Settings)
		for _, n := range part.Notes {
			whole.Notes = append(whole.Notes, fmt.Sprintf("Setting %s: %s", s.Name, n))
		}
	}
	return whole, table, WriteReport(folder, whole)
}

// merge adds settings under a prefix.
func merge(into map[string]string, prefix string, from map[string]string) map[string]string {
	if into == nil {
		into = map[string]string{}
	}
	for key, value := range from {
		into[prefix+": "+key] = value
	}
	return into
}

// fraudSetting is one setting on one split.
type fraudSetting struct {
	*fraudRun
	s      FraudSetting
	folder string
	draw   int
}

// run builds the costs, trains and evaluates.
func (x *fraudSetting) run(ctx context.Context) (*Report, error) {
	t := &trial{
		name: x.s.Name, folder: x.folder, costs: x.costsConfig(), recipes: []TrainConfig{x.s.Train}, knn: x.c.KNN, resamples: x.c.Resample,
		rt: x.rt, progress: x.progress, complete: x.completion(),
		options: build.Options{
			Restart: x.o.Restart, Progress: x.progress, Runtime: func() (*ort.Runtime, error) { return x.rt, nil },
		},
	}
	return t.run(ctx)
}

// costsConfig is what pipe costs would be given.
func (x *fraudSetting) costsConfig() build.Config {
	c, schema := x.c.costs(x.s), x.rows.schema
	c.Instances.Settings = map[string]any{"file": filepath.Join(x.folder, tableFile)}
	c.Labels, c.FoldSeed = schema.Labels, x.c.Split.Seed+uint64(x.draw)
	c.Features[0].Settings = map[string]any{"groups": []any{schema.Groups[0].Name}}
	return c
}

// fraudBatch is how many rows of a table a worker looks at together: enough for the experts' graphs to be busy, little
// enough for five levels of some hundred columns to stay small.
const fraudBatch = 512
