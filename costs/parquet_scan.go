package costs

import (
	"context"
	"fmt"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// ReadIDs reads the ids of a tensor, in the order of its rows, and no other
// column. Empty and duplicate ids are a *DataError, as in Read.
func ReadIDs(ctx context.Context, path storage.Location) ([]string, error) {
	ids, err := readIDs(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read costs: %w", err)
	}
	return ids, nil
}

func readIDs(ctx context.Context, path storage.Location) ([]string, error) {
	s, err := openSource(ctx, path, ReadOptions{FeaturesOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.close()
	t := &Tensor{IDs: make([]string, s.rows)}
	for _, g := range s.groups() {
		if err := dataerror.Guard(g.part.path, func() error { return g.ids(t) }); err != nil {
			return nil, err
		}
	}
	return t.IDs, s.locate(t.checkIDs())
}

// ids reads the ids of a row group into their place in t.
func (g *groupRead) ids(t *Tensor) error {
	if g.part.cols.id == nil {
		return &DataError{Column: colID, Msg: "is missing; the file has " + columnNames(g.File.Root)}
	}
	column := g.text(g.part.cols.id, 1, func(t *Tensor) []string { return t.IDs })
	if err := column.read(t.window(g.base(), g.Rows)); err != nil {
		return err
	}
	return column.cursor.finish()
}

// CountUnknown counts the unknown outcomes of a tensor. It reads the losses and
// no other column.
func CountUnknown(ctx context.Context, path storage.Location) (int, error) {
	count, err := countUnknown(ctx, path)
	if err != nil {
		return 0, fmt.Errorf("read costs: %w", err)
	}
	return count, nil
}

func countUnknown(ctx context.Context, path storage.Location) (count int, err error) {
	s, err := openSource(ctx, path, ReadOptions{Unknown: true})
	if err != nil {
		return 0, err
	}
	defer s.close()
	for _, g := range s.groups() {
		err := dataerror.Guard(g.part.path, func() error {
			n, err := g.unknownCells()
			count += n
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return count, nil
}

// unknownCells counts the unknown outcomes of a row group, a block of rows at a
// time.
func (g *groupRead) unknownCells() (count int, err error) {
	a := g.source.actions.Len()
	column := g.losses(g.part.cols.loss, a)
	step := max(1, (1<<16)/a)
	for first := 0; first < g.Rows; first += step {
		t := &Tensor{Actions: g.source.actions, Loss: make([]float32, min(step, g.Rows-first)*a)}
		if err := column.read(t); err != nil {
			return 0, err
		}
		count += t.UnknownCells()
	}
	return count, column.cursor.finish()
}
