package bench

import (
	"context"
	"path/filepath"

	"pipe/experts/builder/part"
	"pipe/internal/storage"
	"pipe/pipeline/features"
	"pipe/pipeline/report"
	"pipe/pipeline/train"
)

// split runs all settings on one split and writes its report.
func (r *fraudRun) split(ctx context.Context, draw int) (*report.Report, *features.Report, error) {
	table, err := r.rows.Featurize(ctx, storage.File(r.splitFolder(draw)), r.c.Split, draw)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, s := range r.c.Settings {
		names = append(names, s.Name)
	}
	report, err := r.trials(ctx, draw, names, func(i int, folder string) *trial {
		return (&fraudTrial{r, r.c.Settings[i], folder, draw}).trial()
	})
	return report, table, err
}

// fraudTrial is one setting on one split.
type fraudTrial struct {
	*fraudRun
	s      fraudSetting
	folder string
	draw   int
}

// trial builds the trial of a setting on the split.
func (x *fraudTrial) trial() *trial {
	return &trial{
		benchRun: x.benchRun, setting: x.s.Name, folder: x.folder, costs: x.costsConfig(), options: x.buildOptions(), recipes: []train.Settings{x.s.Train},
		knn: x.c.KNN, resamples: x.c.Resample, ask: true, complete: x.completion(),
	}
}

// costsConfig is the equivalent configuration of pipe costs.
func (x *fraudTrial) costsConfig() part.Config {
	c, schema := x.c.costs(x.s), x.rows.Schema
	c.Instances.Settings = map[string]any{"file": filepath.Join(x.folder, features.TableFile)}
	c.Labels, c.FoldSeed = schema.Labels, x.c.Split.Seed+uint64(x.draw)
	c.Features[0].Settings = map[string]any{"groups": []any{schema.Groups[0].Name}}
	return c
}

// fraudBatch is the number of table rows that a worker processes at once: enough to keep the graphs of the experts
// busy, few enough that five levels of several hundred columns stay small.
const fraudBatch = 512
