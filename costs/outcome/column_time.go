package outcome

import (
	"math"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// bytesOfTime is the size of a time.
const bytesOfTime = 8

// noTime stands for a time that is not known; no valid time is as early.
const noTime = math.MinInt64

// timeColumn is one time per instance, in microseconds.
type timeColumn struct {
	name string
	unit tablefile.TimeUnit
	at   []int64
	held *textfile.MemoryBudget
}

// set keeps the latest time of an instance: with it the outcome was complete.
func (c *timeColumn) set(n int, cell tablefile.Cell) error {
	at, err := cell.Time(c.unit)
	if err != nil {
		return &costs.DataError{Column: c.name, Err: err}
	}
	return c.keep(n, at)
}

// keep keeps the later one of a time and the time of an instance.
func (c *timeColumn) keep(n int, at int64) error {
	if n >= len(c.at) {
		if err := c.held.AddCells(n+1-len(c.at), 1, bytesOfTime); err != nil {
			return err
		}
	}
	for len(c.at) <= n {
		c.at = append(c.at, noTime)
	}
	c.at[n] = max(c.at[n], at)
	return nil
}

// has reports whether the time of an instance is known.
func (c *timeColumn) has(n int) bool { return n < len(c.at) && c.at[n] != noTime }

func (c *timeColumn) pick(rows []int) []int64 {
	out := make([]int64, len(rows))
	for i, n := range rows {
		out[i] = c.at[n]
	}
	return out
}
