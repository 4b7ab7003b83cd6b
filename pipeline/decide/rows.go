package decide

import "context"

// rowBatch is a run of rows: ids and features (len(ids) x dim).
type rowBatch struct {
	ids      []string
	features []float32
	drop     int // rows at the beginning, and
	spare    int // rows at the end, that are decided on with the others and not written
}

// featureSource yields rows of a known width. next returns io.EOF after the last row; its batch belongs to the caller.
// rows is the number of rows, or -1 if the input does not state it.
type featureSource interface {
	next(ctx context.Context) (*rowBatch, error)
	rows() int64
	close()
}
