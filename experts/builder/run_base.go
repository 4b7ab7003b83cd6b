package builder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"pipe/costs"
	"pipe/costs/grow"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// The files of a build that adds experts to another one: the new pairs, and all pairs.
const (
	addedName  = "added.parquet"
	joinedName = "joined.parquet"
)

// addExperts takes the pairs of the first experts from the output o.Base, and asks only the others. The result is that
// of a build that asks all.
func (p *plan) addExperts(ctx context.Context, w *work, r *Report, o *Options) error {
	if p.cfg.Audit || p.cfg.Latency.FeePerSecond != 0 {
		return errors.New("base: audit and latency concern all experts together; build without a base")
	}
	m, known, err := p.checkBase(ctx, o)
	if err != nil {
		return fmt.Errorf("base: %w", err)
	}
	added := *p.cfg
	added.Experts = p.cfg.Experts[known:]
	sub := *o
	sub.someExperts, sub.Base, sub.Reuse, sub.Out = true, "", "", storage.File(w.file(addedName))
	made, err := run(ctx, &added, &sub)
	if err != nil {
		return err
	}
	joined := w.file(joinedName)
	options := grow.MergeOptions{Mode: grow.Pairs, FillFee: true, Fees: p.actions.FeeList(), Drop: []string{costs.MoneyKey, costs.PricesKey}, Progress: o.Progress}
	if _, err := grow.Merge(ctx, storage.Files(o.Base, sub.Out.Path()), storage.File(joined), options); err != nil {
		return err
	}
	var counts chat.Tally
	counts.AddAll(m.Done.Answers)
	counts.AddAll(made.Answers)
	r.Answers, r.Resumed = counts.Of(p.session.Parts()), made.Resumed
	if err := p.finish(ctx, w, r, "", fromFile(ctx, p, joined)); err != nil {
		return err
	}
	return errors.Join(w.forget(joinedName), w.forget(addedName), os.RemoveAll(workFolder(sub.Out.Path())))
}

// checkBase checks that the base is the finished output of this configuration with the first experts only. It returns
// its manifest and the number of these experts.
func (p *plan) checkBase(ctx context.Context, o *Options) (*manifest, int, error) {
	known, err := p.expertsOf(ctx, o.Base)
	if err != nil {
		return nil, 0, err
	}
	other := &work{out: o.Base, folder: workFolder(o.Base)}
	m, err := other.read()
	switch {
	case err != nil:
		return nil, 0, err
	case m == nil || m.Done == nil:
		return nil, 0, &costs.DataError{File: other.file(manifestName), Msg: "there is no record of a finished build; join the tensors with pipe merge"}
	}
	sum, err := costs.FileDigest(ctx, storage.File(o.Base))
	if err != nil {
		return nil, 0, err
	}
	if sum != m.Done.File {
		return nil, 0, &costs.DataError{File: o.Base, Msg: "is not the file that its build wrote"}
	}
	inputs, err := p.inputsOf(ctx, known, o)
	if err != nil {
		return nil, 0, err
	}
	if changes := difference(m.Inputs, inputs); len(changes) > 0 {
		return nil, 0, &costs.DataError{File: o.Base, Msg: "was made from other inputs than this configuration has: " + textfile.Listed(changes, 5)}
	}
	return m, known, nil
}

// expertsOf returns how many experts a tensor has, which must be the first of the configuration.
func (p *plan) expertsOf(ctx context.Context, file string) (int, error) {
	in, err := costs.OpenReader(ctx, storage.File(file), costs.ReadOptions{})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, &costs.DataError{File: file, Msg: "does not exist"}
	}
	if err != nil {
		return 0, err
	}
	defer in.Close()
	experts := in.Actions().Experts
	if len(experts) >= len(p.cfg.Experts) {
		return 0, &costs.DataError{File: file, Msg: fmt.Sprintf("has %d experts, and the configuration %d: there is none to add", len(experts), len(p.cfg.Experts))}
	}
	for j, e := range experts {
		if name := p.cfg.Experts[j].Name; name != e.Name {
			return 0, &costs.DataError{File: file, Msg: fmt.Sprintf("expert %d is %q, but %q in the configuration, which must list new experts last", j, e.Name, name)}
		}
	}
	return len(experts), nil
}

// inputsOf returns the inputs of this configuration with the first experts only.
func (p *plan) inputsOf(ctx context.Context, experts int, o *Options) (part.Inputs, error) {
	cfg := *p.cfg
	cfg.Experts = p.cfg.Experts[:experts]
	sub := *o
	sub.someExperts = true
	plan, err := newPlan(ctx, &cfg, &sub)
	if err != nil {
		return nil, err
	}
	return plan.Inputs, plan.Close()
}
