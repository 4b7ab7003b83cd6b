package builder

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"pipe/costs"
	"pipe/experts/chat"
	"pipe/internal/atomicfile"
	"pipe/internal/dataerror"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// has reports whether a shard is done: its rows can be read, and what was counted
// of its answers, and what its instances were shown.
func (w *work) has(ctx context.Context, p *plan, shard int) bool {
	_, err := w.load(ctx, p, shard)
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

// saveCounts writes the counts of the answers of a shard. Builds without chat
// models have no such file.
func (w *work) saveCounts(shard int, counts []chat.AnswerCount) error {
	if len(counts) == 0 {
		return nil
	}
	b, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(w.countsFile(shard), b)
}

// loadCounts reads what saveCounts wrote. Counts that are impossible for the shard give a *costs.DataError.
func (w *work) loadCounts(p *plan, shard int) ([]chat.AnswerCount, error) {
	if len(p.session.Parts()) == 0 {
		return nil, nil
	}
	file := w.countsFile(shard)
	b, err := textfile.ReadFile(file, textfile.MaxConfig)
	if err != nil {
		return nil, dataerror.FromText(err)
	}
	var counts []chat.AnswerCount
	if err := strictjson.Unmarshal(b, &counts); err != nil {
		return nil, &costs.DataError{File: file, Err: err}
	}
	ofPart := func(c chat.AnswerCount, part string) bool { return c.Part == part }
	if !slices.EqualFunc(counts, p.session.Parts(), ofPart) {
		return nil, &costs.DataError{File: file, Msg: "does not count the answers of the parts that ask"}
	}
	return counts, faultOf(counts, file)
}

// faultOf is a *costs.DataError if counts in a file are impossible.
func faultOf(counts []chat.AnswerCount, file string) error {
	for _, c := range counts {
		if !c.Possible() {
			return &costs.DataError{File: file, Msg: fmt.Sprintf("the counts of %s are below 0, or larger than they can be", c.Part)}
		}
	}
	return nil
}

// counts returns the counts of the answers of all shards.
func (p *plan) counts(w *work) ([]chat.AnswerCount, error) {
	var all chat.Tally
	for shard := range p.shards() {
		counts, err := w.loadCounts(p, shard)
		if err != nil {
			return nil, err
		}
		all.AddAll(counts)
	}
	return all.Of(p.session.Parts()), nil
}

// withRun adds the requests and the money of this run.
func (p *plan) withRun(whole []chat.AnswerCount) []chat.AnswerCount {
	var all chat.Tally
	all.AddAll(whole)
	all.AddAll(p.session.Run())
	return all.Of(p.session.Parts())
}
