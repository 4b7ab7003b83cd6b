package costs

import (
	"context"
	"fmt"
	"io"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// defaultBatchBytes is the size of the features of one batch if the caller does
// not set its number of rows.
const defaultBatchBytes = 4 << 20

// Reader reads a cost tensor batch by batch, in memory that does not grow with
// the number of rows. It checks everything that Read checks except for
// duplicate ids, since that check needs memory for every id. The values of facts
// are those that occur in the batch. A Reader must not be used concurrently.
type Reader struct {
	source  *source
	batch   int
	left    []*groupRead // the row groups to come
	current *groupRead
	readers []columnReader
	done    int // rows of the current group that have been returned
	err     error
}

// OpenReader opens a file or a folder of parts. The caller closes the reader.
func OpenReader(ctx context.Context, path storage.Location, o ReadOptions) (*Reader, error) {
	s, err := openSource(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("read costs: %w", err)
	}
	for _, p := range s.parts[1:] {
		if err := samePresence(s.parts[0], p); err != nil {
			s.close()
			return nil, fmt.Errorf("read costs: %w", err)
		}
	}
	r := &Reader{source: s, batch: o.BatchRows, left: s.groups()}
	if r.batch <= 0 {
		r.batch = max(256, min(1<<16, defaultBatchBytes/(4*s.dim)))
	}
	return r, nil
}

// Rows returns the number of rows that the files declare.
func (r *Reader) Rows() int { return r.source.rows }

// Dim returns the number of features per row.
func (r *Reader) Dim() int { return r.source.dim }

// Actions returns the actions; nil if only features are read and there are
// none.
func (r *Reader) Actions() *Actions { return r.source.actions }

// Meta returns the further metadata of the first file.
func (r *Reader) Meta() map[string]string { return r.source.meta }

// Columns returns the columns that the rows have, with the metadata: what a
// Writer needs to write them again, but for Unknown.
func (r *Reader) Columns() WriterOptions {
	c := r.source.parts[0].cols
	o := WriterOptions{
		Dim: r.source.dim, Groups: c.group != nil, Times: c.time != nil, Fee: c.fee != nil, Labels: c.label != nil, Predictions: c.prediction != nil,
		Propensity: c.propensity != nil, Meta: r.source.meta,
	}
	for q, leaf := range c.usage {
		o.Usage[q] = leaf != nil
	}
	for _, f := range c.facts {
		o.Facts = append(o.Facts, f.Fact)
	}
	return o
}

// Ignored lists the columns of the first file that are not part of a tensor.
func (r *Reader) Ignored() []string { return otherColumns(r.source.parts[0].file.Root) }

// At returns the file and the number in it, from 1, of row n of the tensor,
// which counts from 0. The reader must be open.
func (r *Reader) At(n int) (file string, row int) { return r.source.at(n) }

// Next returns the next rows, in the order of the files, and io.EOF after the
// last. The batch belongs to the caller. With FeaturesOnly it has no splits and
// no losses. If the file has no ids either, its length is len(Features)/Dim.
func (r *Reader) Next() (*Tensor, error) {
	if r.err == nil {
		var t *Tensor
		if t, r.err = r.next(); r.err == nil {
			return t, nil
		}
		if r.err != io.EOF {
			r.err = fmt.Errorf("read costs: %w", r.err)
		}
	}
	return nil, r.err
}

func (r *Reader) next() (*Tensor, error) {
	for r.current == nil || r.done == r.current.Rows {
		if err := r.advance(); err != nil {
			return nil, err
		}
	}
	rows := min(r.batch, r.current.Rows-r.done)
	t := r.source.blank(rows, r.current.part.cols)
	err := dataerror.Guard(r.current.part.path, func() error {
		for _, c := range r.readers {
			if err := c.read(t); err != nil {
				return err
			}
		}
		err := badText(colID, t.IDs)
		if err == nil {
			err = badText(colGroup, t.Groups)
		}
		if err == nil && t.Actions != nil {
			err = t.checkCells()
		}
		return shifted(err, r.current.First+r.done)
	})
	if err != nil {
		return nil, err
	}
	r.done += rows
	return t, nil
}

// advance closes the current row group, which has been read to its end, and
// opens the next one.
func (r *Reader) advance() error {
	if err := r.endGroup(); err != nil {
		return err
	}
	if len(r.left) == 0 {
		return io.EOF
	}
	r.current, r.left, r.done = r.left[0], r.left[1:], 0
	r.readers = r.current.readers()
	return nil
}

// Seek moves to the row group that has row n, counted from 0 over all files, and returns its first row, which the next
// batch begins with. Beyond the last row, Next returns io.EOF. It may only be called before the first call of Next.
func (r *Reader) Seek(n int) (first int) {
	for len(r.left) > 0 && n >= r.left[0].base()+r.left[0].Rows {
		r.left = r.left[1:]
	}
	if len(r.left) == 0 {
		return r.source.rows
	}
	return r.left[0].base()
}

func (r *Reader) endGroup() error {
	if r.current == nil {
		return nil
	}
	err := dataerror.Guard(r.current.part.path, func() error {
		for _, c := range r.readers {
			if err := c.cursor.finish(); err != nil {
				return err
			}
		}
		return nil
	})
	r.current, r.readers = nil, nil
	return err
}

// Close closes the files. It may be called more than once; batches stay valid.
func (r *Reader) Close() error {
	r.current, r.readers = nil, nil
	r.source.close()
	r.source.parts = nil
	if r.err == nil {
		r.err = fmt.Errorf("read costs: reader is closed")
	}
	return nil
}
