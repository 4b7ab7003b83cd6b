package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/eval"
	"pipe/pipeline/imports"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

// Options are the options of Run.
type Options struct {
	Out     storage.Location // a folder that is new or empty
	Rows    int              // requests of the log
	Seed    uint64           // another seed invents another log
	Runtime ort.Config
}

// DefaultOptions is 2,000 requests.
func DefaultOptions() Options { return Options{Rows: 2000, Seed: 1, Runtime: ort.DefaultConfig()} }

// Names in the folder.
const (
	logFile     = "log.csv"
	configFile  = "outcomes.yaml"
	settings    = "train.yaml"
	tensorFile  = "costs.parquet"
	policies    = "policies"
	reportFiles = "report"
	policyFile  = "auto-lambda1.onnx"
)

// Run invents a log, imports it, trains on it and judges the policy on rows that it has not seen, as the commands of the result
// do.
func Run(ctx context.Context, o Options, progress stage.Progress) (*Result, error) {
	if o.Rows < 100 || o.Rows > 1_000_000 {
		return nil, &stage.OptionError{Err: fmt.Errorf("--rows %d: 100 to 1000000", o.Rows)}
	}
	return stage.Alone(o.Out, func() (*Result, error) { return o.run(ctx, progress) })
}

func (o Options) run(ctx context.Context, progress stage.Progress) (*Result, error) {
	if there, err := o.Out.ReadDir(ctx); err == nil && len(there) > 0 {
		return nil, &stage.OptionError{Err: fmt.Errorf("the folder %q is not empty: remove it, or choose another --out", o.Out)}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rt, err := ort.Open(o.Runtime) // before anything is written
	if err != nil {
		return nil, err
	}
	if err := rt.Close(); err != nil {
		return nil, err
	}
	if err := o.write(ctx); err != nil {
		return nil, err
	}
	if _, err := imports.Run(ctx, imports.Options{Config: o.Out.Join(configFile), Out: o.Out.Join(tensorFile), Runtime: o.Runtime}, progress); err != nil {
		return nil, err
	}
	trained, err := train.Run(ctx, o.training(), progress)
	if err != nil {
		return nil, err
	}
	judged, err := eval.Run(ctx, o.evaluation(), progress)
	if err != nil {
		return nil, err
	}
	return o.result(ctx, trained, judged)
}

// write writes the invented log and the configurations.
func (o Options) write(ctx context.Context) error {
	if err := atomicfile.MakeFolderAt(ctx, o.Out.Join(logFile)); err != nil {
		return err
	}
	for name, text := range map[string][]byte{logFile: log(o.Rows, o.Seed), configFile: []byte(outcomesFile), settings: []byte(trainFile)} {
		if err := atomicfile.WriteFileAt(ctx, o.Out.Join(name), text); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) training() train.Options {
	t := train.DefaultOptions()
	t.Tensor, t.Out, t.Config, t.Runtime, t.Methods = o.Out.Join(tensorFile), o.Out.Join(policies), o.Out.Join(settings), o.Runtime, nil
	return t
}

func (o Options) evaluation() eval.Options {
	e := eval.DefaultOptions()
	e.Tensor, e.Policies, e.Out, e.Runtime = o.Out.Join(tensorFile), []storage.Location{o.Out.Join(policies)}, o.Out.Join(reportFiles), o.Runtime
	e.Today, e.Learning, e.KNN = "large/docs", false, false
	return e
}

// result reads the cost of every choice on the rows that judged.
func (o Options) result(ctx context.Context, trained *train.Report, judged *report.Report) (*Result, error) {
	t, err := costs.Read(ctx, o.Out.Join(tensorFile), costs.ReadOptions{})
	if err != nil {
		return nil, err
	}
	s := costs.Summarize(t, t.Rows(costs.Val), 1)
	r := &Result{Format: 1, Folder: o.Out.String(), Requests: o.Rows, Judged: s.Rows}
	for pair, cost := range s.Cost {
		r.Costs = append(r.Costs, Cost{"always " + t.Actions.Name(pair), cost})
	}
	if len(trained.Policies) > 0 && trained.Policies[0].TrueLoss != nil {
		r.Costs = append(r.Costs, Cost{"the learned policy", *trained.Policies[0].TrueLoss})
	}
	r.Costs = append(r.Costs, Cost{"the best policy there is", bestCost(t)}, Cost{"if all answers were known", s.Oracle})
	for _, v := range judged.Verdicts() {
		r.Verdict = append(r.Verdict, v.Sentence)
	}
	r.commands(o.Out)
	return r, nil
}

// bestCost is the cost of the policy that knows the chances by which the log was invented, on the rows that judge.
func bestCost(t *costs.Tensor) (mean float64) {
	fees, rows := t.Actions.Fees(1), t.Rows(costs.Val)
	for _, n := range rows {
		x := t.Features[n*t.Dim:]
		right := request{int(x[0]), x[1] == 1, x[2] == 1}.right()
		best := 0
		for pair, p := range right {
			if 1-p+fees[pair] < 1-right[best]+fees[best] {
				best = pair
			}
		}
		mean += float64(t.Loss[n*t.Actions.Len()+best]) + fees[best]
	}
	return mean / float64(len(rows))
}
