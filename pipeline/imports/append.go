package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"pipe/costs"
	"pipe/costs/grow"
	"pipe/costs/outcome"
	"pipe/internal/filelock"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// appendRows adds the imported rows to the tensor at o.Out, which stays as it is until the new one is complete.
func appendRows(ctx context.Context, cfg outcome.Config, o Options, progress stage.Progress) (_ *Report, err error) {
	if stage.IsFolder(ctx, o.Out) {
		return nil, &costs.DataError{File: o.Out.String(), Msg: "is a folder of parts; import to another file, and join both with pipe merge"}
	}
	lock, err := filelock.Existing(o.Out.String())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &costs.DataError{File: o.Out.String(), Msg: "there is no tensor to add rows to; leave --append out to make one"}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if cfg.Base, err = baseOf(ctx, o.Out); err != nil {
		return nil, err
	}
	cfg.Base.NewCategories = o.NewCategories
	t, report, answers, err := withModels(ctx, cfg, o, progress)
	if err != nil {
		return nil, err
	}
	merge := grow.MergeOptions{KeepSame: o.KeepSame, Progress: progress}
	a := &Appended{}
	if err := a.settleFees(cfg.Base.Actions, t.Actions, o, &merge); err != nil {
		return nil, err
	}
	merge.Watch = a.watchSplits(cfg)
	r, err := grow.Append(ctx, o.Out, t, o.source(), o.Out, merge)
	if err != nil {
		return nil, err
	}
	a.MergeReport = *r
	return &Report{Format: 1, File: o.Out.String(), Digest: r.Digest, Report: report, Answers: answers, Append: a}, nil
}

// baseOf describes the tensor that rows are added to.
func baseOf(ctx context.Context, path storage.Location) (*outcome.Base, error) {
	r, err := costs.OpenReader(ctx, path, costs.ReadOptions{Unknown: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	base := &outcome.Base{Actions: r.Actions(), Facts: r.Columns().Facts}
	if text, ok := r.Meta()[costs.NamesKey]; ok {
		if err := json.Unmarshal([]byte(text), &base.FeatureNames); err != nil {
			return nil, &costs.DataError{File: path.String(), Column: costs.NamesKey, Msg: "is not a list of names", Err: err}
		}
	}
	return base, nil
}

// settleFees compares the fees of the tensor with those of the configuration. It is an error if they differ and the
// options do not say which ones hold.
func (a *Appended) settleFees(old, now *costs.Actions, o Options, merge *grow.MergeOptions) error {
	if err := now.SameSet(old); err != nil {
		return &costs.DataError{File: o.source().String(), Msg: fmt.Sprintf("the imported rows have other actions than %q: %v; pipe merge joins other experts and advice side by side", o.Out, err)}
	}
	changed := old.ChangedFees(now)
	for _, c := range changed {
		a.Changed = append(a.Changed, grow.FeeChange{Kind: c.Kind, Name: c.Name, A: c.Trained, B: c.Here})
	}
	hold := old
	switch {
	case o.Fees == NewFees:
		hold = now
	case len(changed) > 0 && o.Fees == "":
		return &costs.DataError{File: o.source().String(), Column: "fees", Msg: fmt.Sprintf("differ from those of %q: %s; --fees old keeps those of the tensor, --fees new takes these for all rows", o.Out, costs.ListFees(changed))}
	}
	if o.Fees != "" {
		a.Fees, merge.Drop = o.Fees, []string{costs.PricesKey} // measured fees stay what they were measured as
	}
	if len(changed) > 0 {
		merge.Fees = hold.FeeList()
	}
	return nil
}

// watchSplits counts the rows of the tensor that the configuration would put into another split; nil if it draws none.
func (a *Appended) watchSplits(cfg outcome.Config) func(file int, rows *costs.Tensor) {
	if !cfg.DrawsSplit() {
		return nil
	}
	draw := cfg.Split.Draw()
	draw.Partial = true
	return func(file int, rows *costs.Tensor) {
		if file > 0 {
			return
		}
		splits, err := draw.Draw(rows.IDs, rows.Labels, rows.Groups)
		for n := range splits {
			if err == nil && splits[n] != rows.Splits[n] {
				a.OtherSplit++
			}
		}
	}
}
