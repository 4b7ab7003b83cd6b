package grow

import (
	"context"
	"errors"
	"hash/maphash"
	"io"

	"pipe/costs"
	"pipe/internal/textfile"
)

// place is where a row was first seen, and a hash of its content.
type place struct {
	file int
	row  int
	hash uint64
}

// joinRows appends the rows of one file after the other.
func (m *merger) joinRows(ctx context.Context) error {
	total := 0
	for _, in := range m.inputs {
		total += in.total
	}
	m.options.Progress.Start(int64(total), "rows")
	m.report.Inputs = make([]MergeInput, len(m.inputs))
	seen := make(map[string]place, min(total, 1<<20))
	hash := &rowHash{seed: maphash.MakeSeed()}
	for f, in := range m.inputs {
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			batch, err := in.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			read := batch.Len()
			if m.options.Watch != nil {
				m.options.Watch(f, batch)
			}
			if batch, err = m.fresh(ctx, f, batch, seen, hash); err != nil {
				return err
			}
			if batch.Len() > 0 {
				if err := m.add(f, batch); err != nil {
					return err
				}
			}
			m.options.Progress.Add(int64(read))
		}
	}
	return nil
}

// fresh returns the rows of a batch whose ids are new.
func (m *merger) fresh(ctx context.Context, f int, batch *costs.Tensor, seen map[string]place, hash *rowHash) (*costs.Tensor, error) {
	var keep []int
	first := m.inputs[f].rows - batch.Len()
	for n, id := range batch.IDs {
		here := place{file: f, row: first + n}
		if m.options.KeepSame {
			here.hash = hash.of(batch, n)
		}
		before, known := seen[id]
		if !known {
			seen[id] = here
			keep = append(keep, n)
			continue
		}
		if !m.options.KeepSame || before.file == f {
			return nil, m.repeated(here, before, id)
		}
		if here.hash != before.hash {
			return nil, m.conflict(ctx, here, before, batch, n)
		}
		m.report.Inputs[f].Same++
	}
	if len(keep) == batch.Len() {
		return batch, nil
	}
	return batch.Subset(keep), nil
}

// repeated is the error of an id that occurs twice.
func (m *merger) repeated(here, before place, id string) error {
	remedy := ""
	if here.file != before.file {
		remedy = "; --keep-same keeps one of two rows that are equal, pipe merge --mode pairs joins other pairs of the same rows"
	}
	return m.inputs[here.file].fault(here.row, "id", "%s is a duplicate, first in %s%s", textfile.Quoted(id), m.inputs[before.file].place(before.row), remedy)
}

// conflict is the error of two rows with the same id and other content.
func (m *merger) conflict(ctx context.Context, here, before place, batch *costs.Tensor, n int) error {
	other, err := m.inputs[before.file].row(ctx, before.row)
	if err != nil {
		return err
	}
	var first firstCell
	compareInstance(batch, n, other, 0, first.note)
	for p := range batch.Actions.Len() {
		comparePair(batch, n, p, other, 0, p, first.note)
	}
	if first.cell == nil {
		return m.inputs[here.file].fault(here.row, "", "has changed while it was read")
	}
	return m.differs(first.cell, here, before, batch.IDs[n])
}

// differs is the error of two rows with the same id, of which c is the first
// cell that differs.
func (m *merger) differs(c *cell, here, before place, id string) error {
	x, y := c.values()
	return m.inputs[here.file].fault(here.row, c.name(), "is %s, but %s in %s, which has the same id %s",
		x, y, m.inputs[before.file].place(before.row), textfile.Quoted(id))
}
