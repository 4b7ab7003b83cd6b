package outcome

import (
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// propensityColumn has the probability with which the only pair of each instance was executed; NaN: there is no row yet.
type propensityColumn struct {
	name string
	cell int
	at   []float64
	held *textfile.MemoryBudget
}

// read keeps the propensity of a row, which is the only one of its instance. A nil column reads nothing.
func (c *propensityColumn) read(n int, id string, row tablefile.Row) error {
	if c == nil {
		return nil
	}
	if row.Missing(c.cell) {
		return c.bad(row.Place(), "is missing; where no propensity is known, leave the column out and set outcomes.propensity: unknown")
	}
	p, err := row.Float(c.cell)
	switch {
	case err != nil:
		return &costs.DataError{Row: row.Place(), Column: c.name, Err: err}
	case p > 1 && p <= 100:
		return c.bad(row.Place(), "is %v, which looks like per cent; a propensity is a probability above 0 and at most 1", p)
	case p == 0:
		return c.bad(row.Place(), "is 0, but the pair was executed; a propensity is a probability above 0 and at most 1")
	case !(p > 0 && p <= 1):
		return c.bad(row.Place(), "is %v; a propensity is a probability above 0 and at most 1", p)
	}
	free, err := c.put(n, p)
	if err == nil && !free {
		return c.bad(row.Place(), "%s", severalRows(id))
	}
	return err
}

func severalRows(id string) string {
	return fmt.Sprintf("instance %s has several rows; with propensities each is one decision, so every id is there once", textfile.Quoted(id))
}

func (c *propensityColumn) bad(row int, format string, args ...any) error {
	return &costs.DataError{Row: row, Column: c.name, Msg: fmt.Sprintf(format, args...)}
}

// put keeps the propensity of an instance, and reports whether it had none.
func (c *propensityColumn) put(n int, p float64) (free bool, err error) {
	if more := n + 1 - len(c.at); more > 0 {
		if err := c.held.AddCells(more, 1, bytesOfTime); err != nil {
			return false, err
		}
		c.at = append(c.at, slices.Repeat([]float64{math.NaN()}, more)...)
	}
	free = math.IsNaN(c.at[n])
	c.at[n] = p
	return free, nil
}
