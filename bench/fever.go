package bench

import (
	"context"
	"path/filepath"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/retrieval"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

var feverBenchmark = Benchmark{
	Name:  "fever",
	About: "FEVER claims: which expert verifies, and which passages it is shown",
	Run:   runFever,
}

// feverConfigFile is the configuration file of the benchmark.
type feverConfigFile struct {
	Fever feverConfig `yaml:"fever"`
}

func (f *feverConfigFile) Validate() error { return f.Fever.Validate() }

// feverRun is one run of the benchmark. Files that do not depend on the split are beside the splits:
//
//	experts/          trained experts, embeddings, the index of the pages
//	answers/          answers of endpoints
//	splitN/           a trial per setting, and the report on the split
type feverRun struct {
	*benchRun
	c feverConfig
}

var fever = configured{"fever", "configs/fever.yaml reads the official files, configs/fever-small.yaml runs on small models"}

// runFever is the benchmark.
func runFever(ctx context.Context, o Options, p stage.Progress) (*report.Report, error) {
	file := feverConfigFile{Fever: defaultFever()}
	return fever.start(ctx, o, &file, p, func(b *benchRun) (*report.Report, error) {
		b.title = "FEVER: who verifies a claim, and with which passages"
		return (&feverRun{b, file.Fever}).run(ctx)
	})
}

func (r *feverRun) run(ctx context.Context) (*report.Report, error) {
	whole, err := r.draws(r.c.Split.Draws, func(draw int) (*report.Report, error) { return r.split(ctx, draw) })
	if err != nil {
		return nil, err
	}
	whole.Retrieval, err = r.recall(ctx)
	return whole, err
}

// split runs all settings on one draw of the split and writes its report.
func (r *feverRun) split(ctx context.Context, draw int) (*report.Report, error) {
	if _, err := atomicfile.MkdirAll(r.splitFolder(draw)); err != nil {
		return nil, err
	}
	var names []string
	for _, s := range r.c.Settings {
		names = append(names, s.Name)
	}
	return r.trials(ctx, draw, names, func(i int, folder string) *trial { return r.trial(r.c.Settings[i], folder, draw) })
}

// trial is a setting on one draw of the split.
func (r *feverRun) trial(s feverSetting, folder string, draw int) *trial {
	return &trial{
		benchRun: r.benchRun, setting: s.Name, folder: folder, costs: r.c.costs(s, draw), options: r.sharedOptions(), recipes: s.Train.ForRecipes(s.Recipes),
		knn: r.c.KNN, resamples: r.c.Resample,
	}
}

// recallAt are the numbers of passages at which the recall of gold pages is reported.
var recallAt = []int{1, 3, 5}

// recall measures retrieval on all claims, which does not depend on splits and settings.
func (r *feverRun) recall(ctx context.Context) (out []retrieval.RecallReport, err error) {
	x := r.trial(r.c.Settings[0], r.splitFolder(0), 0)
	x.options.Out = storage.File(filepath.Join(x.folder, x.tensorFile()))
	tensor, err := costs.FileDigest(ctx, x.options.Out) // it identifies claims and pages
	if err != nil {
		return nil, err
	}
	err = r.recorded(ctx, "recall", map[string]string{
		"costs": tensor, "advice": stage.Digest(x.costs.Advice), "at": stage.Digest(recallAt), "format": "1",
	}, &out, func() (any, error) { return builder.Recall(ctx, x.costs, x.options, recallAt) })
	return out, err
}
