package bench

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/internal/atomicfile"
	"pipe/internal/lists"
	"pipe/internal/storage"
	"pipe/pipeline/eval"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// evalFormat is increased when an evaluation of the same inputs has other content.
const evalFormat = "3"

// evaluate returns the report on the policies in some files, relative to the folder: the tables of every evaluation,
// the experts, and the additions of the benchmark.
func (x *trial) evaluate(ctx context.Context, inputs map[string]string, left []string) (*report.Report, error) {
	inputs["options"] = stage.Digest(x.evalOptions())
	maps.Copy(inputs, x.complete.inputs)
	for _, f := range left {
		sum, err := costs.FileDigest(ctx, storage.File(filepath.Join(x.folder, f)))
		if err != nil {
			return nil, err
		}
		inputs[f] = sum
	}
	file := x.named("eval") + ".json"
	s := stage.Step{Folder: storage.File(x.folder), Name: x.named("eval"), Inputs: inputs}
	err := s.Run(ctx, func() ([]string, error) {
		r, err := x.judge(ctx, lists.Keep(left, func(f string) bool { return filepath.Ext(f) == ".onnx" }))
		if err != nil {
			return nil, err
		}
		return []string{file}, atomicfile.Write(filepath.Join(x.folder, file), r.WriteJSON)
	})
	if err != nil {
		return nil, err
	}
	in, err := os.Open(filepath.Join(x.folder, file))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return report.Read(in)
}

// evalOptions are the options of an evaluation; the lambdas and the seed are the same for all recipes.
func (x *trial) evalOptions() eval.Options {
	o, c := eval.DefaultOptions(), x.recipes[0]
	o.Findings = false // benchmarks compare methods, over several seeds and splits
	o.Tensor, o.Lambdas, o.KNN, o.Resamples, o.Seed = storage.File(x.tensorFile()), c.Lambdas, x.knn, x.resamples, c.Seed
	return o
}

// judge does the work of evaluate.
func (x *trial) judge(ctx context.Context, policies []string) (*report.Report, error) {
	t, err := costs.Read(ctx, storage.File(filepath.Join(x.folder, x.tensorFile())), costs.ReadOptions{})
	if err != nil {
		return nil, err
	}
	j := &judged{t: t, rows: t.Rows(costs.Val)}
	for _, f := range policies {
		l, err := replay.Open(ctx, x.rt, storage.File(filepath.Join(x.folder, f)), t, j.rows)
		if err != nil {
			return nil, err
		}
		j.learned = append(j.learned, l)
	}
	r, err := eval.Decisions(ctx, x.rt, t, j.learned, x.evalOptions(), x.progress)
	if err != nil {
		return nil, err
	}
	if j.experts, err = x.diagnose(ctx, j); err != nil {
		return nil, err
	}
	for _, e := range j.experts.Experts {
		r.Experts = append(r.Experts, report.ExpertQuality{Rate: j.experts.Rate, ExpertFigures: e})
	}
	var recipes []string
	for _, c := range x.recipes {
		recipes = append(recipes, c.Recipe)
	}
	r.Settings["task loss"], r.Settings["recipe"] = x.costs.TaskLoss.Kind, strings.Join(recipes, ", ")
	if x.complete.add == nil {
		return r, nil
	}
	return r, x.complete.add(ctx, r, j)
}

// diagnose evaluates the experts by the answers in the tensor, or by asking them again.
func (x *trial) diagnose(ctx context.Context, j *judged) (*builder.ExpertReport, error) {
	if x.ask {
		return builder.Diagnose(ctx, x.costs, x.options)
	}
	return builder.DiagnoseTensor(j.t, j.rows, x.costs.Labels)
}
