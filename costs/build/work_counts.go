package build

import (
	"encoding/json"
	"fmt"
	"io"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/textfile"
)

// has reports whether a shard is done: its rows can be read, and what was counted
// of its answers, and what its instances were shown.
func (w *work) has(p *plan, shard int) bool {
	_, err := w.load(p, shard)
	if err == nil {
		_, err = w.loadCounts(p, shard)
	}
	if err == nil && p.cfg.Audit {
		err = w.copyAudit(io.Discard, shard)
	}
	return err == nil
}

// countsFile returns the file of a shard's counts.
func (w *work) countsFile(shard int) string { return w.file(fmt.Sprintf("part-%06d.json", shard)) }

// saveCounts writes what was counted of the answers of a shard. Builds that ask
// nobody have no such file.
func (w *work) saveCounts(shard int, counts []AnswerCount) error {
	if len(counts) == 0 {
		return nil
	}
	b, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(w.countsFile(shard), b)
}

func (w *work) loadCounts(p *plan, shard int) ([]AnswerCount, error) {
	if len(p.asking.parts) == 0 {
		return nil, nil
	}
	b, err := textfile.ReadFile(w.countsFile(shard), textfile.MaxConfig)
	if err != nil {
		return nil, err
	}
	var counts []AnswerCount
	if err := json.Unmarshal(b, &counts); err != nil {
		return nil, &costs.DataError{File: w.countsFile(shard), Err: err}
	}
	return counts, nil
}

// counts returns what was counted of the answers of all shards.
func (p *plan) counts(w *work) ([]AnswerCount, error) {
	var all tally
	for shard := range p.shards() {
		counts, err := w.loadCounts(p, shard)
		if err != nil {
			return nil, err
		}
		all.addAll(counts)
	}
	return all.of(p.asking.parts), nil
}

// withRun adds what this run asked and spent.
func (p *plan) withRun(whole []AnswerCount) []AnswerCount {
	var all tally
	all.addAll(whole)
	all.addAll(p.asking.run.of(p.asking.parts))
	return all.of(p.asking.parts)
}
