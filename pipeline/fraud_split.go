package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pipe/costs"
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

func (x *fraudSetting) tensorFile() string { return "costs-" + x.s.Name + ".parquet" }
func (x *fraudSetting) policies() string   { return "policies-" + x.s.Name }

// run builds the costs, trains and evaluates.
func (x *fraudSetting) run(ctx context.Context) (*Report, error) {
	cfg := x.costsConfig()
	built, err := build.Run(ctx, cfg, x.buildOptions())
	if err != nil {
		return nil, err
	}
	train := x.trainStage(built.Digest)
	if err := x.train(ctx, train); err != nil {
		return nil, err
	}
	return x.evaluate(ctx, cfg, train)
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

func (x *fraudSetting) buildOptions() build.Options {
	return build.Options{
		Out: filepath.Join(x.folder, x.tensorFile()), Restart: x.o.Restart, Progress: x.progress,
		Runtime: func() (*ort.Runtime, error) { return x.rt, nil },
	}
}

// engine names what the bits of a graph's results depend on besides its inputs.
func (r *fraudRun) engine() string {
	return fmt.Sprintf("onnxruntime %s on %s", r.rt.Version(), r.rt.Device())
}

func (x *fraudSetting) trainStage(tensor string) stage {
	return stage{folder: x.folder, name: "train-" + x.s.Name, inputs: map[string]string{
		"costs": tensor, "train": digestJSON(x.s.Train), "runtime": x.engine(), "format": "1",
	}}
}

// train leaves the policies of the setting. Checkpoints are kept by the digest of what they belong to, so that a changed
// configuration finds none.
func (x *fraudSetting) train(ctx context.Context, s stage) error {
	work := filepath.Join(x.folder, s.name+".work")
	return s.run(ctx, func() ([]string, error) {
		t, err := costs.Read(filepath.Join(x.folder, x.tensorFile()), costs.ReadOptions{})
		if err != nil {
			return nil, err
		}
		o := DefaultTrainOptions()
		o.TrainConfig, o.Tensor, o.Out = x.s.Train, x.tensorFile(), filepath.Join(x.folder, x.policies())
		report, err := trainInto(ctx, x.rt, t, o, filepath.Join(work, digestJSON(s.inputs)[7:23]), x.progress)
		if err != nil {
			return nil, err
		}
		files := []string{x.policies() + "/train.json"}
		for _, p := range report.Policies {
			files = append(files, x.policies()+"/"+p.File)
		}
		return files, errors.Join(x.dropPolicies(files), os.RemoveAll(work))
	})
}

// dropPolicies removes policies that another configuration left.
func (x *fraudSetting) dropPolicies(keep []string) error {
	there, err := policyFiles([]string{filepath.Join(x.folder, x.policies())})
	if err != nil {
		return err
	}
	for _, f := range there {
		if !slices.Contains(keep, below(x.folder, f)) {
			err = errors.Join(err, os.Remove(f))
		}
	}
	return err
}
