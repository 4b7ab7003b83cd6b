package ort

import (
	"errors"
	"testing"
)

// counted is a set of buffers for some rows.
type counted struct {
	rows   int
	closed *int
}

func (c *counted) Close() error {
	*c.closed++
	return nil
}

func TestPool(t *testing.T) {
	var p Pool[*counted]
	made, closed := 0, 0
	take := func(rows int) (*counted, error) {
		return p.Take(func(c *counted) bool { return c.rows == rows }, func() (*counted, error) {
			made++
			return &counted{rows, &closed}, nil
		})
	}
	first, err := take(1)
	if err != nil {
		t.Fatal(err)
	}
	p.Put(first)
	if again, err := take(1); again != first || err != nil || made != 1 {
		t.Errorf("the idle set is not used again: %v, %d made", err, made)
	}
	if other, _ := take(1); other == first {
		t.Error("a set is used by two calls")
	}
	for rows := range keptSets + 3 {
		p.Put(&counted{100 + rows, &closed})
	}
	if closed != 3 {
		t.Errorf("%d sets are freed, want 3", closed)
	}
	if _, _ = take(100); made != 3 {
		t.Error("the oldest set is kept")
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil || closed != keptSets+3 {
		t.Errorf("%v, %d sets are freed", err, closed)
	}
	if p.Put(first); closed != keptSets+4 {
		t.Error("a set that is put back after the end is not freed")
	}
	if _, err := take(1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
