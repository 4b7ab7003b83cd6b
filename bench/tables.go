package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/internal/config"
	"pipe/models/auto"
	"pipe/onnx/ort"
	"pipe/pipeline/imports"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

var tablesBenchmark = Benchmark{
	Name:   "tables",
	About:  "a list of cost tensors and outcome logs: policies against simple peers, on several splits of each",
	Run:    runTables,
	Choice: true,
}

var tables = configured{"tables", "configs/tables.yaml reads published outcome tables"}

// tablesRun is one run of the benchmark. The folder of the output has
//
//	experts/                            vectors of texts
//	TABLE/splitN/METHOD.decisions.json  what a method decides on the held-out rows
type tablesRun struct {
	*benchRun
	c       *tablesConfig
	results []*tableResults
	fresh   []string // what was run since the last remark
}

// tableResults are the decisions on all splits of a table.
type tableResults struct {
	name     string
	together costs.Clusters // of all rows
	splits   []*tableSplit
	left     map[string]string // methods that are left out, with the reason
}

func runTables(ctx context.Context, o Options, p stage.Progress) (*report.Report, error) {
	file := defaultTables()
	return tables.start(ctx, o, &file, p, func(b *benchRun) (*report.Report, error) {
		if err := file.choose(o.Tables, o.Methods); err != nil {
			return nil, &config.Error{File: o.Config, Problems: config.Lines(err)}
		}
		r := &tablesRun{benchRun: b, c: &file}
		return r.run(ctx)
	})
}

func (r *tablesRun) run(ctx context.Context) (*report.Report, error) {
	all, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	for i, table := range r.c.Tables {
		if err := r.runTable(ctx, table, all[i]); err != nil {
			return nil, err
		}
	}
	return r.report()
}

// load reads or configs every table before anything is trained, so that a problem of the last one is found at once.
func (r *tablesRun) load(ctx context.Context) (_ []*costs.Tensor, err error) {
	configs := make([]outcome.Config, len(r.c.Tables))
	for i, table := range r.c.Tables {
		if table.Import == nil {
			continue
		}
		if configs[i], err = table.Import.load(ctx, r.dir); err != nil {
			return nil, fmt.Errorf("table %s: %w", table.Name, err)
		}
	}
	vectors := imports.NewVectors(filepath.Join(r.out, "experts"), r.progress, func() (*ort.Runtime, error) { return r.rt, nil })
	defer func() { err = errors.Join(err, vectors.Close()) }()
	var all []*costs.Tensor
	for i, table := range r.c.Tables {
		r.progress.Start(-1, "read "+table.Name)
		t, err := (*costs.Tensor)(nil), error(nil)
		if table.Import == nil {
			t, err = costs.Read(ctx, table.Tensor.Location(), costs.ReadOptions{})
		} else {
			configs[i].OpenText, configs[i].OpenImage = vectors.OpenText, vectors.OpenImage
			t, _, err = outcome.Import(ctx, configs[i])
		}
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", table.Name, err)
		}
		if r.c.runs(auto.Name) || r.c.runs(methods.AnyPrice) {
			if err := r.c.Train.Auto.Ready(t.Actions.Len()); err != nil {
				return nil, fmt.Errorf("table %s: %w", table.Name, err)
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// runTable runs all methods on all splits of a table.
func (r *tablesRun) runTable(ctx context.Context, of tableConfig, t *costs.Tensor) error {
	table := &tableResults{name: of.Name, together: of.together(t), left: map[string]string{}}
	r.results = append(r.results, table)
	for draw := range r.c.Splits {
		x, err := newTableSplit(r, of, t, table.together, draw)
		if err != nil {
			return err
		}
		table.splits = append(table.splits, x)
		if err := table.runSplit(ctx, x); err != nil {
			return fmt.Errorf("%s: %w", x, err)
		}
		x.prepared = nil
		if len(r.fresh) > 0 {
			r.o.say(fmt.Sprintf("%s: %s", x, strings.Join(r.fresh, ", ")))
		}
		r.fresh = nil
	}
	return nil
}

// runSplit runs all methods on a split. One that cannot be used on this table is left out.
func (t *tableResults) runSplit(ctx context.Context, x *tableSplit) error {
	for _, m := range x.c.methods() {
		if _, left := t.left[m.name]; left {
			continue
		}
		if _, left := t.left[m.after]; left {
			t.left[m.name] = fmt.Sprintf("it needs the decisions of %s", m.after)
			continue
		}
		d, err := x.run(ctx, m)
		var failed *methodError
		switch {
		case errors.As(err, &failed) && m.name != oracle:
			t.left[m.name] = failed.Error()
			x.o.say(fmt.Sprintf("note: %s: %s is left out: %v", x, m.name, failed))
		case err != nil:
			return fmt.Errorf("%s: %w", m.name, err)
		default:
			x.decided[m.name] = d
		}
	}
	return nil
}
