package regress

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"pipe/internal/parallel"
	"pipe/models/estimate"
	"pipe/onnx/ort"
)

// Distances are computed in blocks of queryBlock x trainTile pairs: 2 MB of float32, which stays in the cache between
// the product and the selection.
const (
	queryBlock = 128
	trainTile  = 4096
)

// nearest returns, for every row of query, the indices of the k nearest rows of
// train by Euclidean distance, nearest first, ties by smaller index: query
// rows x k. train and query are row-major with dim columns. Inner products run
// on rt, one block of queries per core; the selection is Go.
func nearest(ctx context.Context, rt *ort.Runtime, train, query []float32, dim, k int) (out []int32, err error) {
	nt, nq := len(train)/dim, len(query)/dim
	if k > nt {
		return nil, errNoNeighbours
	}
	p, err := newProductGraph(rt, train, dim)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	s := search{graph: p, norms: estimate.HalfNorms(train, dim), query: query, k: k, out: make([]int32, nq*k)}
	workers := runtime.GOMAXPROCS(0)
	if err := parallel.Each(ctx, workers, workers, func(ctx context.Context, _ int) error { return s.work(ctx) }); err != nil {
		return nil, err
	}
	return s.out, nil
}

// search is one call of nearest; its workers take blocks of queries in turn.
type search struct {
	graph *productGraph
	norms []float32
	query []float32
	k     int
	out   []int32
	taken atomic.Int64
}

func (s *search) work(ctx context.Context) (err error) {
	w, err := s.graph.worker()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	best := make([]smallest, queryBlock)
	for i := range best {
		best[i].keys = make([]uint64, 0, 2*s.k)
	}
	rows := len(s.query) / s.graph.dim
	for {
		start := int(s.taken.Add(queryBlock)) - queryBlock
		if start >= rows {
			return nil
		}
		if err := s.block(ctx, w, best[:min(queryBlock, rows-start)], start); err != nil {
			return err
		}
	}
}

// block finds the neighbours of the queries from start on, one entry of best each.
func (s *search) block(ctx context.Context, w *productWorker, best []smallest, start int) error {
	w.load(s.query[start*s.graph.dim : (start+len(best))*s.graph.dim])
	for i := range best {
		best[i].reset(s.k)
	}
	for _, t := range s.graph.tiles {
		products, err := w.products(ctx, t)
		if err != nil {
			return err
		}
		norms := s.norms[t.first : t.first+t.rows]
		for i := range best {
			best[i].offer(products[i*t.rows:(i+1)*t.rows], norms, t.first)
		}
	}
	for i := range best {
		best[i].drain(s.out[(start+i)*s.k : (start+i+1)*s.k])
	}
	return nil
}
