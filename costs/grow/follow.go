package grow

import (
	"context"
	"errors"
	"io"

	"pipe/costs"
)

// match says which rows two tensors share.
type match struct {
	index        map[string]int // row of every id of b, from 0
	both         int
	onlyA, onlyB RowList
	inOrder      bool // the shared rows have the same order in both
}

// RowList counts rows and names some of them.
type RowList struct {
	Rows int      `json:"rows"`
	IDs  []string `json:"first,omitempty"` // the first of them

	first int // number of the first row, from 0
}

// shownRows is how many rows a report names.
const shownRows = 5

func (l *RowList) add(row int, id string) {
	if l.Rows == 0 {
		l.first = row
	}
	if l.Rows++; l.Rows <= shownRows {
		l.IDs = append(l.IDs, id)
	}
}

// matchRows compares the ids of two tensors. It reads no other column.
func matchRows(ctx context.Context, a, b *input) (*match, error) {
	second, err := costs.ReadIDs(ctx, b.path)
	if err != nil {
		return nil, err
	}
	m := &match{index: make(map[string]int, len(second)), inOrder: true}
	for row, id := range second {
		m.index[id] = row
	}
	first, err := costs.ReadIDs(ctx, a.path)
	if err != nil {
		return nil, err
	}
	shared := make([]bool, len(second))
	last := -1
	for row, id := range first {
		there, ok := m.index[id]
		if !ok {
			m.onlyA.add(row, id)
			continue
		}
		shared[there] = true
		m.both++
		m.inOrder = m.inOrder && there > last
		last = there
	}
	for row, is := range shared {
		if !is {
			m.onlyB.add(row, second[row])
		}
	}
	return m, nil
}

// follower finds the rows of a tensor by id. If they are asked for in the order
// of the file it holds one batch, else all rows.
type follower struct {
	in    *input
	index map[string]int
	batch *costs.Tensor
	first int  // number of the first row of the batch
	whole bool // the batch is all rows
}

func newFollower(ctx context.Context, in *input, m *match) (*follower, error) {
	f := &follower{in: in, index: m.index}
	if m.inOrder {
		return f, nil
	}
	whole, err := costs.Read(ctx, in.path, costs.ReadOptions{Unknown: true})
	if err != nil {
		return nil, err
	}
	f.batch = in.shape(whole)
	in.rows, f.whole = whole.Len(), true
	return f, nil
}

// at returns the batch that has the row of an id, and its position there.
func (f *follower) at(id string) (*costs.Tensor, int, error) {
	n, ok := f.index[id]
	for ok && (f.batch == nil || n >= f.first+f.batch.Len()) {
		f.first = f.in.rows
		var err error
		f.batch, err = f.in.next()
		if errors.Is(err, io.EOF) {
			ok = false
		} else if err != nil {
			return nil, 0, err
		}
	}
	if !ok || n < f.first || f.batch.IDs[n-f.first] != id {
		return nil, 0, &costs.DataError{File: f.in.path.String(), Msg: "has changed while it was read"}
	}
	return f.batch, n - f.first, nil
}

// finish reads the rows after the last one that was asked for, so that they are
// checked too.
func (f *follower) finish() error {
	for !f.whole {
		if _, err := f.in.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}
