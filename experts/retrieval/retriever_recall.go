package retrieval

import (
	"context"
	"slices"
	"sync"

	"pipe/experts/builder/part"
	"pipe/internal/parallel"
)

// RecallReport measures how well levels of advice find the pages that settle an instance.
type RecallReport struct {
	Advice    []string   `json:"advice"`    // levels that search the same pages in the same way
	Instances int        `json:"instances"` // all of the source
	Gold      int        `json:"gold"`      // those with evidence
	Inside    int        `json:"inside"`    // of Gold: a gold page is in the corpus
	Whole     int        `json:"whole"`     // of Gold: all pages of one evidence set are in the corpus
	At        []RecallAt `json:"at"`        // per number of pages
}

// RecallAt is the recall among the k best pages. Full is the document recall of
// FEVER's shared task, over the instances that the corpus can settle.
type RecallAt struct {
	K    int     `json:"k"`
	Any  float64 `json:"any"`  // share of Inside with a gold page among the k best
	Full float64 `json:"full"` // share of Whole with all pages of one evidence set among the k best
}

// EvidenceSource is a source with evidence for its instances.
type EvidenceSource interface {
	part.Source
	// Evidence returns the evidence sets of an instance; the pages of one of them
	// settle it together.
	Evidence(row int) [][]string
}

// pageLister is a corpus that knows which pages it has.
type pageLister interface {
	has(page string) (bool, error)
}

// RecallMeter measures how often a retriever finds the pages that settle an
// instance, by the text of the instance.
type RecallMeter struct {
	Source    EvidenceSource
	Retriever *CachedRetriever
	Advice    []string // levels that use the retriever, for the report
	K         []int    // values of k, all positive
	Batch     int      // instances per search
	Workers   int      // concurrent searches

	mu     sync.Mutex
	report RecallReport
	any    []int // per k: instances with a gold page
	full   []int // per k: instances with a whole evidence set
}

// Run goes through all instances, once.
func (m *RecallMeter) Run(ctx context.Context, progress part.Progress) (*RecallReport, error) {
	entries := m.Source.Entries()
	m.report = RecallReport{Advice: m.Advice, Instances: len(entries)}
	m.any, m.full = make([]int, len(m.K)), make([]int, len(m.K))
	progress.Start(int64(len(entries)), "recall")
	defer progress.Done()
	rows := make([]int, len(entries))
	for n := range rows {
		rows[n] = n
	}
	batches := slices.Collect(slices.Chunk(rows, m.Batch))
	err := parallel.Each(ctx, m.Workers, len(batches), func(ctx context.Context, i int) error {
		defer progress.Add(int64(len(batches[i])))
		return m.batch(ctx, batches[i])
	})
	if err != nil {
		return nil, err
	}
	for i, k := range m.K {
		m.report.At = append(m.report.At, RecallAt{K: k, Any: share(m.any[i], m.report.Inside), Full: share(m.full[i], m.report.Whole)})
	}
	return &m.report, nil
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// batch counts some instances.
func (m *RecallMeter) batch(ctx context.Context, rows []int) error {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row int) bool { return len(m.Source.Evidence(row)) == 0 })
	instances, err := m.Source.Load(ctx, rows)
	if err != nil {
		return err
	}
	queries := make([]string, len(instances))
	for n := range instances {
		queries[n] = instances[n].Text
	}
	found, err := m.Retriever.Find(ctx, queries, slices.Max(m.K))
	if err != nil {
		return err
	}
	for n, row := range rows {
		if err := m.count(m.Source.Evidence(row), found[n]); err != nil {
			return err
		}
	}
	return nil
}

// count counts one instance with evidence.
func (m *RecallMeter) count(sets [][]string, found []part.Passage) error {
	inside, whole, err := covered(sets, m.Retriever.has)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Gold++
	m.report.Inside += inside
	m.report.Whole += whole
	for i, k := range m.K {
		best := found[:min(k, len(found))]
		among := func(page string) (bool, error) {
			return slices.ContainsFunc(best, func(p part.Passage) bool { return p.Page == page }), nil
		}
		some, all, _ := covered(sets, among)
		m.any[i] += some
		m.full[i] += all
	}
	return nil
}

// covered returns two numbers, 1 or 0: whether any page of the sets is present, and whether a whole set is.
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
