package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"pipe/internal/parallel"
)

// RecallReport tells how well a level of advice finds the pages that settle an
// instance.
type RecallReport struct {
	Advice    []string   `json:"advice"`    // levels that search the same pages in the same way
	Instances int        `json:"instances"` // all there are
	Gold      int        `json:"gold"`      // those with evidence
	Inside    int        `json:"inside"`    // of Gold: a gold page is in the corpus
	Whole     int        `json:"whole"`     // of Gold: all pages of one evidence set are in the corpus
	At        []RecallAt `json:"at"`
}

// RecallAt is the recall of the k best pages. Full is the document recall of
// FEVER's shared task, over the instances that the corpus can settle.
type RecallAt struct {
	K    int     `json:"k"`
	Any  float64 `json:"any"`  // share of Inside with a gold page among the k best
	Full float64 `json:"full"` // share of Whole with all pages of one evidence set among the k best
}

// evident is a source that knows the evidence of its instances.
type evident interface {
	// Evidence returns the evidence sets of an instance; the pages of one of them
	// settle it together.
	Evidence(row int) [][]string
}

// knowing is a corpus that can tell which pages it has.
type knowing interface {
	has(page string) (bool, error)
}

// Recall measures, for the advice of kind passages that searches by the instances'
// own texts, how often the best ks pages are those that settle an instance. The
// source must know evidence, as kind fever does. A corpus that cannot tell its
// pages counts as one that has all.
func Recall(ctx context.Context, cfg Config, o Options, ks []int) ([]RecallReport, error) {
	r, err := recall(ctx, &cfg, &o, ks)
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	return r, nil
}

func recall(ctx context.Context, cfg *Config, o *Options, ks []int) (_ []RecallReport, err error) {
	if len(ks) == 0 || slices.Min(ks) < 1 || slices.Max(ks) > mostPassages {
		return nil, fmt.Errorf("k is %v, not numbers from 1 to %d", ks, mostPassages)
	}
	if _, err := o.complete(cfg); err != nil {
		return nil, err
	}
	p := blankPlan(cfg, o)
	defer func() { err = errors.Join(err, p.Close()) }()
	var meters []*recallMeter
	err = p.make(ctx, p.makeSource, func(ctx context.Context) (err error) {
		meters, err = p.recallMeters(ctx, ks)
		return err
	})
	if err != nil {
		return nil, err
	}
	var reports []RecallReport
	for _, m := range meters {
		if err := m.run(ctx, o.Progress); err != nil {
			return nil, err
		}
		reports = append(reports, m.report)
	}
	return reports, nil
}

// recallMeters returns a meter for every retriever that levels search by the
// instances' texts.
func (p *plan) recallMeters(ctx context.Context, ks []int) ([]*recallMeter, error) {
	source, ok := p.Source.(evident)
	if !ok {
		return nil, &PartError{instancesPart, fmt.Errorf("instances of kind %q come without evidence", p.cfg.Instances.Kind)}
	}
	var meters []*recallMeter
	for _, c := range p.cfg.Advice {
		part := advicePart(c.Name)
		r, err := searches(ctx, p.Setup(part), c)
		if err != nil {
			return nil, made(ctx, part, err)
		}
		if r == nil {
			continue
		}
		at := slices.IndexFunc(meters, func(m *recallMeter) bool { return m.corpus == r })
		if at < 0 {
			at = len(meters)
			meters = append(meters, &recallMeter{plan: p, source: source, corpus: r, ks: ks})
		}
		meters[at].report.Advice = append(meters[at].report.Advice, c.Name)
	}
	return meters, nil
}

// searches returns the retriever of a level that searches by the instances' texts,
// nil for other advice.
func searches(ctx context.Context, s *Setup, c AdviceConfig) (*remembering, error) {
	if c.Kind != "passages" {
		return nil, nil
	}
	var cfg passagesSettings
	if err := decodeSettings(c.Settings, &cfg); err != nil || cfg.Reformulator != nil {
		return nil, err
	}
	return newRetriever(ctx, s, cfg.retrievalSettings, cfg.Top)
}

// recallMeter measures one retriever.
type recallMeter struct {
	plan   *plan
	source evident
	corpus *remembering
	ks     []int
	report RecallReport

	mu   sync.Mutex
	any  []int // per k: instances with a gold page
	full []int // per k: instances with a whole evidence set
}

// run goes through all instances.
func (m *recallMeter) run(ctx context.Context, progress Progress) error {
	entries := m.plan.Source.Entries()
	m.report.Instances = len(entries)
	m.any, m.full = make([]int, len(m.ks)), make([]int, len(m.ks))
	progress.Start(int64(len(entries)), "recall")
	defer progress.Done()
	rows := make([]int, len(entries))
	for n := range rows {
		rows[n] = n
	}
	batches := slices.Collect(slices.Chunk(rows, m.plan.cfg.Batch))
	err := parallel.Each(ctx, m.plan.workers(), len(batches), func(ctx context.Context, i int) error {
		defer progress.Add(int64(len(batches[i])))
		return m.batch(ctx, batches[i])
	})
	for i, k := range m.ks {
		m.report.At = append(m.report.At, RecallAt{K: k, Any: share(m.any[i], m.report.Inside), Full: share(m.full[i], m.report.Whole)})
	}
	return err
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// batch counts some instances.
func (m *recallMeter) batch(ctx context.Context, rows []int) error {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row int) bool { return len(m.source.Evidence(row)) == 0 })
	instances, err := m.plan.Source.Load(ctx, rows)
	if err != nil {
		return err
	}
	queries := make([]string, len(instances))
	for n := range instances {
		queries[n] = instances[n].Text
	}
	found, err := m.corpus.Find(ctx, queries, slices.Max(m.ks))
	if err != nil {
		return err
	}
	for n, row := range rows {
		if err := m.count(m.source.Evidence(row), found[n]); err != nil {
			return err
		}
	}
	return nil
}

// count counts one instance with evidence.
func (m *recallMeter) count(sets [][]string, found []Passage) error {
	inside, whole, err := covered(sets, m.has)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Gold++
	m.report.Inside += inside
	m.report.Whole += whole
	for i, k := range m.ks {
		best := found[:min(k, len(found))]
		among := func(page string) (bool, error) {
			return slices.ContainsFunc(best, func(p Passage) bool { return p.Page == page }), nil
		}
		some, all, _ := covered(sets, among)
		m.any[i] += some
		m.full[i] += all
	}
	return nil
}

// covered returns 1 for each of: some page of the sets is there; a whole set is.
func covered(sets [][]string, has func(page string) (bool, error)) (some, whole int, err error) {
	for _, set := range sets {
		all := 1
		for _, page := range set {
			there, err := has(page)
			if err != nil {
				return 0, 0, err
			}
			if there {
				some = 1
			} else {
				all = 0
			}
		}
		whole = max(whole, all)
	}
	return some, whole, nil
}

func (m *recallMeter) has(page string) (bool, error) {
	if k, ok := m.corpus.corpus.(knowing); ok {
		return k.has(page)
	}
	return true, nil
}
