package expert

import (
	"context"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// usageBytes is about the memory of the usage of an answer.
const usageBytes = 32

// Consumes says whether the file has the time of answers.
func (e *precomputed) Consumes() (f costs.UsageFlags) {
	f[costs.Seconds] = e.timed
	return f
}

// readSeconds reads how long the answers took, if a column says so. An empty cell is not known.
func (e *precomputed) readSeconds(ctx context.Context, file storage.Location, cfg *precomputedSettings, held *textfile.MemoryBudget) error {
	if cfg.Seconds == "" {
		return nil
	}
	e.timed = true
	return part.EachRow(ctx, file, func(have *part.Columns) ([]string, error) {
		return have.Existing(cfg.ID, cfg.Expert, cfg.Advice, cfg.Seconds)
	}, func(cells []string, line int) error {
		key := answerKey{cells[0], e.advice[0]}
		if cfg.Advice != "" {
			key.advice = cells[2]
		}
		p, known := e.answers[key]
		if !known || cfg.Expert != "" && cells[1] != cfg.As || cells[3] == "" {
			return nil
		}
		v, err := textfile.ParseFloat32(cells[3])
		if err != nil || v < 0 {
			return &costs.DataError{File: file.String(), Row: line, Column: cfg.Seconds, Msg: "\"" + textfile.Short(cells[3]) + "\" is not a finite, non-negative number"}
		}
		used := part.UnknownUsage()
		used[costs.Seconds] = v
		p.Usage = &used
		e.answers[key] = p
		return held.Add(usageBytes)
	})
}
