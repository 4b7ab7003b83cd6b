package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/experts/advice"
	"pipe/experts/builder/part"
	"pipe/experts/retrieval"
)

// Recall measures, for the advice of kind passages that searches by the
// instances' own texts, how often the best ks pages are those that settle an
// instance. The source must know evidence, as kind fever does. A corpus that
// does not know its pages counts as complete.
func Recall(ctx context.Context, cfg part.Config, o Options, ks []int) (_ []retrieval.RecallReport, err error) {
	defer titled(&err, "recall")
	if len(ks) == 0 || slices.Min(ks) < 1 || slices.Max(ks) > retrieval.MaxPassages {
		return nil, fmt.Errorf("k is %v, not numbers from 1 to %d", ks, retrieval.MaxPassages)
	}
	if _, err := o.complete(ctx, &cfg); err != nil {
		return nil, err
	}
	p := blankPlan(&cfg, &o)
	defer func() { err = errors.Join(err, p.Close()) }()
	var meters []*retrieval.RecallMeter
	err = p.make(ctx, p.makeSource, func(ctx context.Context) (err error) {
		meters, err = p.recallMeters(ctx, ks)
		return err
	})
	if err != nil {
		return nil, err
	}
	var reports []retrieval.RecallReport
	for _, m := range meters {
		report, err := m.Run(ctx, o.Progress)
		if err != nil {
			return nil, err
		}
		reports = append(reports, *report)
	}
	return reports, nil
}

// recallMeters returns a meter for every retriever that levels search by the
// instances' texts.
func (p *plan) recallMeters(ctx context.Context, ks []int) ([]*retrieval.RecallMeter, error) {
	source, ok := p.Source.(retrieval.EvidenceSource)
	if !ok {
		return nil, &PartError{instancesPart, fmt.Errorf("instances of kind %q come without evidence", p.cfg.Instances.Kind)}
	}
	var meters []*retrieval.RecallMeter
	for _, c := range p.cfg.Advice {
		level := part.AdviceName(c.Name)
		if c.Kind != "passages" {
			continue
		}
		r, err := advice.OpenRetriever(ctx, p.Setup(level), c.Settings)
		if err != nil {
			return nil, made(ctx, level, err)
		}
		if r == nil {
			continue
		}
		at := slices.IndexFunc(meters, func(m *retrieval.RecallMeter) bool { return m.Retriever == r })
		if at < 0 {
			at = len(meters)
			meters = append(meters, &retrieval.RecallMeter{Source: source, Retriever: r, K: ks, Batch: p.cfg.Batch, Workers: p.Workers})
		}
		meters[at].Advice = append(meters[at].Advice, c.Name)
	}
	return meters, nil
}
