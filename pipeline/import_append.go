package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"pipe/costs"
	"pipe/costs/grow"
	"pipe/costs/outcome"
	"pipe/internal/filelock"
	"pipe/internal/safetext"
	"pipe/pipeline/stage"
)

// What ImportOptions.Fees may be: whose fees hold where those of the configuration differ from those of the tensor.
const (
	OldFees = "old" // those of the tensor
	NewFees = "new" // those of the configuration, for all rows
)

// Appended describes an import that added rows to a tensor.
type Appended struct {
	grow.MergeReport
	Changed    []grow.FeeChange `json:"changed_fees,omitempty"` // fees of the tensor, and of the configuration
	Fees       string           `json:"fees,omitempty"`         // whose fees the result has, where they differ
	OtherSplit int              `json:"other_split,omitempty"`  // rows of the tensor that the configuration would put into another split
}

// appendImport adds the imported rows to the tensor at o.Out, which stays as it is until the new one is complete.
func appendImport(ctx context.Context, cfg outcome.Config, o ImportOptions, progress stage.Progress) (_ *ImportResult, err error) {
	if stage.IsFolder(o.Out) {
		return nil, &costs.DataError{File: o.Out, Msg: "is a folder of parts; import to another file, and join both with pipe merge"}
	}
	lock, err := filelock.Existing(o.Out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &costs.DataError{File: o.Out, Msg: "there is no tensor to add rows to; leave --append out to make one"}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if cfg.Base, err = baseOf(o.Out); err != nil {
		return nil, err
	}
	cfg.Base.NewCategories = o.NewCategories
	t, report, answers, err := importWithModels(ctx, cfg, o, progress)
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
	return &ImportResult{Format: 1, File: o.Out, Digest: r.Digest, Report: report, Answers: answers, Append: a}, nil
}

// source names where the rows come from.
func (o ImportOptions) source() string {
	if o.Preset != "" {
		return o.In
	}
	return o.Config
}

// baseOf describes the tensor that rows are added to.
func baseOf(path string) (*outcome.Base, error) {
	r, err := costs.OpenReader(path, costs.ReadOptions{Unknown: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	base := &outcome.Base{Actions: r.Actions()}
	if text, ok := r.Meta()[costs.NamesKey]; ok {
		if err := json.Unmarshal([]byte(text), &base.FeatureNames); err != nil {
			return nil, &costs.DataError{File: path, Column: costs.NamesKey, Msg: "is not a list of names", Err: err}
		}
	}
	return base, nil
}

// settleFees compares the fees of the tensor with those of the configuration. It is an error if they differ and the
// options do not say which ones hold.
func (a *Appended) settleFees(old, now *costs.Actions, o ImportOptions, merge *grow.MergeOptions) error {
	if err := now.SameSet(old); err != nil {
		return &costs.DataError{File: o.source(), Msg: fmt.Sprintf("the imported rows have other actions than %q: %v; pipe merge joins other experts and advice side by side", o.Out, err)}
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
		return &costs.DataError{File: o.source(), Column: "fees", Msg: fmt.Sprintf("differ from those of %q: %s; --fees old keeps those of the tensor, --fees new takes these for all rows", o.Out, costs.ListFees(changed))}
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

// write writes the lines for a terminal; none for nil.
func (a *Appended) write(b *safetext.Fields) {
	if a == nil {
		return
	}
	old, added := a.Inputs[0], a.Inputs[1]
	b.Add("appended", "%d rows to %d%s; now %d (%d train, %d val, %d test)", added.Rows-added.Same, old.Rows,
		counted(", %d more were known and are equal", added.Same), a.Rows, a.Splits["train"], a.Splits["val"], a.Splits["test"])
	for _, f := range a.Changed {
		b.Add("fee", "%s %s: %g in the tensor, %g in the configuration; the %s one holds for all rows", f.Kind, f.Name, f.A, f.B, a.Fees)
	}
	b.Add("other split", "%s", counted("%d rows of the tensor would be in another split with this configuration; they keep theirs", a.OtherSplit))
	writeGroups(b, a.GroupReport)
	b.Add("other inputs", "%s", safetext.After("different in the tensor and here: ", strings.Join(a.Digests, ", ")))
	b.Add("left out", "%s", strings.Join(a.Left, ", "))
}
