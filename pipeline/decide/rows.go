package decide

import "context"

// rowBatch is a run of rows: ids and features (len(ids) x dim).
type rowBatch struct {
	ids      []string
	features []float32
}

// featureSource hands out rows of known width. next returns io.EOF after the last row; its batch belongs to the
// caller. rows is the number of rows if the input tells it, else -1.
type featureSource interface {
	next(ctx context.Context) (*rowBatch, error)
	rows() int64
	close()
}
