package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pipe/experts/builder/part"
	"pipe/featurize/tabular"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/models/lightgbm"
	"pipe/pipeline/features"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

var fraudBenchmark = Benchmark{
	Name:  "fraud",
	About: "IEEE-CIS transactions, or generated ones: which expert judges, and how many sensitive columns it is shown",
	Run:   runFraud,
}

// fraudConfigFile is the configuration file of the benchmark.
type fraudConfigFile struct {
	Fraud fraudConfig `yaml:"fraud"`
}

func (f *fraudConfigFile) Validate() error { return f.Fraud.Validate() }

// fraudRun is one run of the benchmark. Every split has a separate folder below out:
//
//	splitN/table.parquet, encoder.json        featurized rows
//	splitN/experts/                           trained experts as ONNX
//	splitN/costs-SETTING.parquet              cost tensors
//	splitN/policies-SETTING/                  policies as ONNX
//	splitN/eval-SETTING.json                  evaluation
//	splitN/report.*                           the report on the split
type fraudRun struct {
	*benchRun
	c    fraudConfig
	rows *features.Rows
}

var fraud = configured{"fraud", "configs/fraud.yaml reads the competition's files, configs/fraud-generated.yaml makes some"}

// runFraud is the benchmark.
func runFraud(ctx context.Context, o Options, p stage.Progress) (*report.Report, error) {
	file := fraudConfigFile{Fraud: defaultFraud()}
	return fraud.start(ctx, o, &file, p, func(b *benchRun) (*report.Report, error) {
		r := &fraudRun{benchRun: b, c: file.Fraud}
		b.title = r.c.title()
		if err := r.leaveOutTrees(); err != nil {
			return nil, err
		}
		return r.run(ctx)
	})
}

// leaveOutTrees drops the experts that need LightGBM if it is not installed, and adds a note. If no expert remains, the
// missing library is an error.
func (r *fraudRun) leaveOutTrees() error {
	trees := func(e part.ExpertConfig) bool { return e.Kind == boostedTrees }
	if !slices.ContainsFunc(r.c.Experts, trees) {
		return nil
	}
	_, err := lightgbm.Open("")
	var missing *lightgbm.MissingLibraryError
	if !errors.As(err, &missing) {
		return err
	}
	var names []string
	for _, e := range r.c.Experts {
		if trees(e) {
			names = append(names, e.Name)
		}
	}
	left := slices.DeleteFunc(slices.Clone(r.c.Experts), trees)
	if len(left) == 0 {
		return err
	}
	r.c.Experts = left
	r.note("LightGBM was not found, so the boosted trees (%s) are left out; %s", strings.Join(names, ", "), missing.Hint())
	return nil
}

func (r *fraudRun) run(ctx context.Context) (*report.Report, error) {
	primary, joined, err := r.data(ctx)
	if err != nil {
		return nil, err
	}
	if r.rows, err = features.OpenRows(ctx, storage.File(primary), storage.File(joined), r.c.Columns.Location(), r.progress); err != nil {
		return nil, err
	}
	if err := r.checkGroups(); err != nil {
		return nil, err
	}
	var table *features.Report
	whole, err := r.draws(r.c.Split.Draws, func(draw int) (report *report.Report, err error) {
		report, table, err = r.split(ctx, draw)
		return report, err
	})
	if err != nil {
		return nil, err
	}
	whole.Notes = append(r.overallNotes(whole, table), whole.Notes...)
	return whole, nil
}

func (c *fraudConfig) title() string {
	if g := c.Data.Generate; g != nil {
		return fmt.Sprintf("Fraud: sensitive escalation on %d generated transactions, world %s", g.Rows, g.World)
	}
	return "Fraud: sensitive escalation on IEEE-CIS transactions"
}

// data returns the two files; it generates them if the configuration says so.
func (r *fraudRun) data(ctx context.Context) (primary, joined string, err error) {
	made := r.c.Data.Generate
	if made == nil {
		return string(r.c.Data.Transactions), string(r.c.Data.Identities), nil
	}
	o := made.options(filepath.Join(r.out, "data"))
	paths := o.Files()
	s := stage.Step{Folder: o.Out, Name: "generate", Inputs: map[string]string{"options": stage.Digest(made), "format": "1"}}
	err = s.Run(ctx, func() ([]string, error) {
		_, err := world.GenerateFraud(ctx, o, r.progress)
		return []string{filepath.Base(paths[0].String()), filepath.Base(paths[1].String())}, err
	})
	return paths[0].String(), paths[1].String(), err
}

// checkGroups checks the levels of advice against the column groups: each level opens at least as many groups as the
// previous one, and the first opens only the base view.
func (r *fraudRun) checkGroups() error {
	var list config.Problems
	last := 0
	for i, a := range r.c.Advice {
		at := groupIndex(r.rows.Schema, a.Through)
		list.Check(at >= 0, "advice[%d]: there is no column group %q", i, a.Through)
		if at < 0 {
			continue
		}
		list.Check(i > 0 || at == 0, "advice[0]: opens %q; the first level is the base view, %q", a.Through, r.rows.Schema.Groups[0].Name)
		list.Check(at >= last, "advice[%d]: opens less than the level before it", i)
		last = at
	}
	if err := list.Err(); err != nil {
		return &config.Error{File: r.o.Config, Problems: config.Lines(err)}
	}
	return nil
}

func groupIndex(s *tabular.Schema, name string) int {
	return slices.IndexFunc(s.Groups, func(g tabular.Group) bool { return g.Name == name })
}

// openedGroups are the sensitive groups, which are all but the first, and the advice that opens each of them.
func (r *fraudRun) openedGroups() []openedGroup {
	var out []openedGroup
	for g, group := range r.rows.Schema.Groups[1:] {
		o := openedGroup{Name: group.Name}
		for _, a := range r.c.Advice {
			o.By = append(o.By, groupIndex(r.rows.Schema, a.Through) >= g+1)
		}
		out = append(out, o)
	}
	return out
}
