// Package sweep divides the policies of a training into shards. It is train.Run for many machines.
package sweep

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
	"pipe/models/auto"
	"pipe/models/paper"
	"pipe/onnx/ort"
	"pipe/pipeline/methods"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

// Shards is the training of train.Run as shards: of a method with fixed settings a shard is some of its policies, one for each lambda and seed;
// recipe auto is one shard, because its policies share what they learn.
type Shards struct {
	o        train.Options
	tensor   *costs.Tensor
	rt       *ort.Runtime
	parts    []train.Options // each trains what no other does, in the order of the report
	manifest shards.Manifest
}

// New reads the tensor. There are at most n shards; n is 0 for as many as there are parts. The caller closes it.
func New(o train.Options, n int) (_ *Shards, err error) {
	if err := errors.Join(o.Validate(), o.Files().Check()); err != nil {
		return nil, err
	}
	t, err := costs.Read(o.Tensor, costs.ReadOptions{Actions: o.Actions, Unknown: o.Recipe == auto.Name})
	if err != nil {
		return nil, err
	}
	rt, err := ort.Open(o.Runtime)
	if err != nil {
		return nil, err
	}
	s := &Shards{o: o, tensor: t, rt: rt}
	if err := s.divide(n); err != nil {
		return nil, errors.Join(err, rt.Close())
	}
	return s, nil
}

// divide makes the parts and the manifest.
func (s *Shards) divide(n int) error {
	others, err := s.o.OtherMethods(s.tensor, stage.Quiet)
	if err != nil {
		return err
	}
	own := s.o
	own.Methods = nil
	if s.o.Recipe == paper.Name {
		s.parts = each(own, s.o.Lambdas)
	} else {
		s.parts = []train.Options{own}
	}
	for _, m := range others {
		of := s.o
		of.Methods, of.OthersOnly = []string{m.Name}, true
		lambdas := s.o.Lambdas
		if methods.Named(m.Name, s.o.Own...).NoAdvice {
			lambdas = lambdas[:1]
		}
		s.parts = append(s.parts, each(of, lambdas)...)
	}
	if n == 0 {
		n = len(s.parts)
	}
	settings, err := digest.JSON(s.o.Settings)
	s.manifest = shards.Manifest{Stage: "train", Shards: min(n, len(s.parts)), Rows: int64(len(s.tensor.Rows(costs.Train))), Inputs: map[string]string{
		"tensor": s.tensor.Digest(), "settings": settings, "split of the losses": s.o.Split, "runtime": s.rt.Version(), "processor family": runtime.GOARCH,
	}}
	if s.o.Warm != "" && err == nil {
		s.manifest.Inputs["older policy"], err = costs.FileDigest(context.Background(), s.o.Warm)
	}
	return err
}

// each are the options of one policy each: for every lambda and seed.
func each(o train.Options, lambdas []float64) (list []train.Options) {
	for _, lambda := range lambdas {
		for seed := range o.Seeds {
			one := o
			one.Lambdas, one.Seeds, one.Seed = []float64{lambda}, 1, o.Seed+uint64(seed)
			list = append(list, one)
		}
	}
	return list
}

// Manifest implements shards.Stage.
func (s *Shards) Manifest() shards.Manifest { return s.manifest }

// Prepare implements shards.Stage: there is nothing that all shards share.
func (s *Shards) Prepare(context.Context, *storage.Folder) error { return nil }

// Shard implements shards.Stage: the policies, their descriptions, and the report about them.
func (s *Shards) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	from, to := shards.Cut(shard, s.manifest.Shards, len(s.parts))
	out := &shards.Result{Counts: map[string]int64{}}
	all := &train.Report{}
	for i, o := range s.parts[from:to] {
		o.Out = filepath.Join(folder, fmt.Sprintf("part-%d", i))
		r, err := train.RunOn(ctx, s.rt, s.tensor, o, filepath.Join(o.Out, "checkpoints"), stage.Quiet)
		if err != nil {
			return nil, err
		}
		add(all, r)
		for _, p := range r.Policies {
			for _, name := range []string{p.File, p.File + ".json"} {
				if err := atomicfile.Rename(filepath.Join(o.Out, name), filepath.Join(folder, name)); err != nil {
					return nil, err
				}
				out.Files = append(out.Files, name)
			}
			out.Counts["policies"]++
		}
	}
	out.Files = append(out.Files, train.ReportFile)
	return out, atomicfile.Write(filepath.Join(folder, train.ReportFile), all.WriteJSON)
}

// add appends what another report says about other policies.
func add(r, other *train.Report) {
	policies, reports := append(r.Policies, other.Policies...), append(r.Auto, other.Auto...)
	*r = *other
	r.Policies, r.Auto = policies, reports
}

// Gather implements shards.Stage: it writes the policies and train.json into the output. The report is a *train.Report.
func (s *Shards) Gather(ctx context.Context, parts *shards.Parts) (any, error) {
	report, err := stage.Alone(s.o.Out, func() (*train.Report, error) { return s.gather(ctx, parts) })
	if err != nil {
		return nil, err
	}
	return report, nil
}

func (s *Shards) gather(ctx context.Context, parts *shards.Parts) (*train.Report, error) {
	stay := map[string]bool{}
	for shard := range parts.Len() {
		for _, f := range parts.Done(shard).Files {
			stay[f.Name] = true
		}
	}
	if err := train.DropPolicies(s.o.Out, stay); err != nil {
		return nil, err
	}
	all := &train.Report{}
	err := parts.Each(ctx, func(shard int, folder string) error {
		for _, f := range parts.Done(shard).Files {
			text, err := os.ReadFile(filepath.Join(folder, f.Name))
			if err != nil {
				return err
			}
			if f.Name != train.ReportFile {
				if err := atomicfile.WriteFile(filepath.Join(s.o.Out, f.Name), text); err != nil {
					return err
				}
				continue
			}
			r := new(train.Report)
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
	all.Tensor = s.o.Tensor
	return all, atomicfile.Write(filepath.Join(s.o.Out, train.ReportFile), all.WriteJSON)
}

// Close implements shards.Stage.
func (s *Shards) Close() error { return s.rt.Close() }
