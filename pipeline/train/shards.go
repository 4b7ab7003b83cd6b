package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/paper"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// trainingShards is a shards.Stage. Each shard is some of the parts of a training.
type trainingShards struct {
	job
	parts    []job // each trains what no other does, in the order of the report
	manifest shards.Manifest
}

// OpenShards is Run for many machines: a shard trains some of the policies. There are at most n shards; n is 0 for as many
// as the training has parts. Gathering writes into o.Out, and its report is a *Report.
func OpenShards(ctx context.Context, o Options, n int) (shards.Stage, error) {
	j, err := o.jobOnFiles(ctx)
	if err != nil {
		return nil, err
	}
	if err := j.open(ctx); err != nil {
		return nil, err
	}
	s := &trainingShards{job: j}
	if err := s.divide(n); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// divide makes the parts and the manifest.
func (s *trainingShards) divide(n int) (err error) {
	if s.parts, err = s.job.parts(); err != nil {
		return err
	}
	if n == 0 {
		n = len(s.parts)
	}
	settings, err := digest.JSON(s.Settings)
	s.manifest = shards.Manifest{Stage: "train", Shards: min(n, len(s.parts)), Rows: int64(len(s.t.Rows(costs.Train))), Inputs: map[string]string{
		"tensor": s.t.Digest(), "settings": settings, "split of the losses": s.Split, "runtime": s.rt.Version() + " on " + s.rt.Device(), "processor family": runtime.GOARCH,
	}}
	if !s.Deployed.IsZero() && err == nil {
		s.manifest.Inputs["deployed policy"], err = costs.FileDigest(context.Background(), s.Deployed)
	}
	if !s.Warm.IsZero() && err == nil {
		s.manifest.Inputs["older policy"], err = costs.FileDigest(context.Background(), s.Warm)
	}
	return err
}

// parts are jobs that together train what j does, in the order of its report: of a method with fixed settings one for
// every lambda and seed; recipe auto is one, because its policies share what they learn.
func (j job) parts() ([]job, error) {
	others, err := j.trainable(stage.Quiet)
	if err != nil {
		return nil, err
	}
	own := j
	own.Methods, own.others = nil, nil
	parts := []job{own}
	if j.Recipe == paper.Name {
		parts = own.each(j.Lambdas)
	}
	for _, m := range others {
		of := j
		of.Methods, of.others, of.othersOnly = []string{m.Name}, []models.Method{m}, true
		lambdas := j.Lambdas
		if m.NoAdvice {
			lambdas = lambdas[:1]
		}
		parts = append(parts, of.each(lambdas)...)
	}
	return parts, nil
}

// each are jobs of one policy each: for every lambda and seed.
func (j job) each(lambdas []float64) (list []job) {
	for _, lambda := range lambdas {
		for seed := range j.Seeds {
			one := j
			one.Lambdas, one.Seeds, one.Seed = []float64{lambda}, 1, j.Seed+uint64(seed)
			list = append(list, one)
		}
	}
	return list
}

// Manifest implements shards.Stage.
func (s *trainingShards) Manifest() shards.Manifest { return s.manifest }

// Prepare implements shards.Stage: there is nothing that all shards share.
func (s *trainingShards) Prepare(context.Context, *storage.Folder) error { return nil }

// Shard implements shards.Stage: the policies, their descriptions, and the report about them.
func (s *trainingShards) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	from, to := shards.Cut(shard, s.manifest.Shards, len(s.parts))
	done := &shards.Result{Counts: map[string]int64{}}
	all := &Report{}
	for i, part := range s.parts[from:to] {
		out := filepath.Join(folder, fmt.Sprintf("part-%d", i))
		r, err := part.into(ctx, storage.File(out), filepath.Join(out, "checkpoints"), stage.Quiet)
		if err != nil {
			return nil, err
		}
		add(all, r)
		for _, p := range r.Policies {
			if p.Stays != "" {
				continue
			}
			for _, name := range []string{p.File, p.File + ".json"} {
				if err := atomicfile.Rename(filepath.Join(out, name), filepath.Join(folder, name)); err != nil {
					return nil, err
				}
				done.Files = append(done.Files, name)
			}
			done.Counts["policies"]++
		}
	}
	done.Files = append(done.Files, ReportFile)
	return done, atomicfile.Write(filepath.Join(folder, ReportFile), all.WriteJSON)
}

// add appends what another report says about other policies.
func add(r, other *Report) {
	policies, reports, cascades := append(r.Policies, other.Policies...), append(r.Auto, other.Auto...), append(r.Cascades, other.Cascades...)
	*r = *other
	r.Policies, r.Auto, r.Cascades = policies, reports, cascades
}

// Gather implements shards.Stage: it writes the policies and json into the output. The report is a *Report.
func (s *trainingShards) Gather(ctx context.Context, parts *shards.Parts) (any, error) {
	report, err := stage.Alone(s.Out, func() (*Report, error) { return s.gather(ctx, parts) })
	if err != nil {
		return nil, err
	}
	return report, nil
}

func (s *trainingShards) gather(ctx context.Context, parts *shards.Parts) (*Report, error) {
	stay := map[string]bool{}
	for shard := range parts.Len() {
		for _, f := range parts.Done(shard).Files {
			stay[f.Name] = true
		}
	}
	if err := dropPolicies(ctx, s.Out, stay); err != nil {
		return nil, err
	}
	all := &Report{}
	err := parts.Each(ctx, func(shard int, folder string) error {
		for _, f := range parts.Done(shard).Files {
			text, err := os.ReadFile(filepath.Join(folder, f.Name))
			if err != nil {
				return err
			}
			if f.Name != ReportFile {
				if err := atomicfile.WriteFileAt(ctx, s.Out.Join(f.Name), text); err != nil {
					return err
				}
				continue
			}
			r := new(Report)
			if err := json.Unmarshal(text, r); err != nil {
				return fmt.Errorf("shard %d: %s: %w", shard, f.Name, err)
			}
			add(all, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all.Tensor = s.source().String()
	return all, atomicfile.WriteAt(ctx, s.Out.Join(ReportFile), all.WriteJSON)
}

// Close implements shards.Stage.
func (s *trainingShards) Close() error { return s.rt.Close() }
