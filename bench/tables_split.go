package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/models/network"
	"pipe/models/regress"
	"pipe/pipeline/stage"
)

// tableSplit is one split of a table.
type tableSplit struct {
	*tablesRun
	table       tableConfig
	draw        int           // from 0
	t           *costs.Tensor // whose held-out rows are the validation rows
	digest      string        // of t
	train, held []int         // rows of t
	prepared    *regress.Data // nil until the first peer needs it
	decided     map[string]*decisions
}

// newTableSplit draws a split of a table.
func newTableSplit(r *tablesRun, table tableConfig, t *costs.Tensor, together costs.Clusters, draw int) (*tableSplit, error) {
	x := &tableSplit{tablesRun: r, table: table, draw: draw, decided: map[string]*decisions{}}
	var groups []string
	if together.Repeats() > 0 {
		for _, g := range together.Of {
			groups = append(groups, strconv.Itoa(g))
		}
	}
	splits, err := costs.SplitDraw{Kind: costs.SplitStratified, Validation: r.c.HeldOut, Seed: x.seed()}.Draw(t.IDs, t.Labels, groups)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", table.Name, err)
	}
	own := *t
	own.Splits = splits
	x.t, x.digest, x.train, x.held = &own, own.Digest(), own.Rows(costs.Train), own.Rows(costs.Val)
	return x, nil
}

func (x *tableSplit) String() string {
	return fmt.Sprintf("%s, split %d of %d", x.table.Name, x.draw+1, x.c.Splits)
}

// seed is that of the split and of everything that is trained on it.
func (x *tableSplit) seed() uint64 { return x.c.Seed + uint64(x.draw) }

// data is what regressors learn from: all rows, with features standardised by the training rows.
func (x *tableSplit) data() (*regress.Data, error) {
	if x.prepared != nil {
		return x.prepared, nil
	}
	all := make([]int, x.t.Len())
	for n := range all {
		all[n] = n
	}
	d := regress.NewData(x.t, all, network.FitStandardizer(x.t.Features, x.t.Dim, x.train))
	if n := regress.TooFar(d.X, d.Dim); n >= 0 {
		return nil, fmt.Errorf("row %q is too far from the training rows for distances in float32", x.t.IDs[n])
	}
	x.prepared = d
	return d, nil
}

// methodError says why a method is left out.
type methodError struct{ err error }

func (e *methodError) Error() string { return e.err.Error() }
func (e *methodError) Unwrap() error { return e.err }

// tablesFormat is increased when the decisions of the same inputs are others.
const tablesFormat = "2"

// run returns the decisions of a method, from its record if there is one. The error is a *methodError if the method
// cannot decide on this table.
func (x *tableSplit) run(ctx context.Context, m tableMethod) (*decisions, error) {
	folder, file := filepath.Join(x.out, x.table.Name, fmt.Sprintf("split%d", x.draw)), m.name+decisionsEnding
	if x.o.Restart {
		if err := os.Remove(filepath.Join(folder, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if _, err := atomicfile.MkdirAll(folder); err != nil {
		return nil, err
	}
	s := stage.Step{Folder: storage.File(folder), Name: m.name, Inputs: x.inputs(m)}
	err := s.Run(ctx, func() ([]string, error) {
		x.progress.Start(-1, x.String()+": "+m.name)
		begun := time.Now()
		d, err := m.decide(ctx, x)
		if err != nil && ctx.Err() == nil {
			return nil, &methodError{err}
		} else if err != nil {
			return nil, err
		}
		took := time.Since(begun).Seconds()
		if d.seconds != nil { // the decisions are those of another method
			took = *d.seconds
		}
		x.fresh = append(x.fresh, fmt.Sprintf("%s %.3g s", m.name, took))
		return []string{file}, errors.Join(writeJSON(filepath.Join(folder, file), d), writeJSON(filepath.Join(folder, m.name+secondsEnding), took))
	})
	if err != nil {
		return nil, err
	}
	d, err := x.read(filepath.Join(folder, file))
	if err != nil {
		return nil, err
	}
	d.seconds = readSeconds(filepath.Join(folder, m.name+secondsEnding))
	return d, nil
}

func writeJSON(path string, v any) error {
	return atomicfile.Write(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
}

// readSeconds reads a time, which is beside the decisions and not part of their record: they have the same bytes on
// every run. It is nil if it is not known.
func readSeconds(path string) *float64 {
	var seconds float64
	text, err := textfile.ReadFile(path, textfile.MaxConfig)
	if err != nil || json.Unmarshal(text, &seconds) != nil {
		return nil
	}
	return &seconds
}

// inputs are what the decisions of a method depend on.
func (x *tableSplit) inputs(m tableMethod) map[string]string {
	in := map[string]string{
		"format": tablesFormat, "tensor": x.digest, "seed": fmt.Sprint(x.seed()), "lambda": fmt.Sprint(x.c.Lambda), "engine": x.engine(),
		"apart": x.table.apart(),
	}
	if m.settings != nil {
		in["settings"] = stage.Digest(m.settings(x.c))
	}
	if m.after != "" {
		in["after"] = stage.Digest(x.decided[m.after].Runs)
	}
	return in
}

// read reads the decisions of a finished step.
func (x *tableSplit) read(path string) (*decisions, error) {
	text, err := textfile.ReadFile(path, textfile.MaxConfig)
	if err != nil {
		return nil, err
	}
	d := &decisions{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("read decisions %q: %w", path, err)
	}
	known := func(i int) bool { return i >= 0 && i < x.t.Actions.Len() }
	for _, run := range d.Runs {
		if len(run) != len(x.held) || slices.ContainsFunc(run, func(i int) bool { return !known(i) }) {
			return nil, fmt.Errorf("read decisions %q: they are not of this split", path)
		}
	}
	if len(d.Runs) == 0 {
		return nil, fmt.Errorf("read decisions %q: there are none", path)
	}
	return d, nil
}
