package models

import (
	"context"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// Distances are computed for queryBlock x trainTile pairs at a time: 2 MB of
// float32, which stays in the cache between the product and the selection.
const (
	queryBlock = 128
	trainTile  = 4096
)

// nearest returns, for every row of query, the indices of the k nearest rows of
// train by Euclidean distance, nearest first, ties by smaller index: query
// rows x k. train and query are row-major with dim columns.
func nearest(ctx context.Context, train, query []float32, dim, k int) ([]int32, error) {
	nt, nq := len(train)/dim, len(query)/dim
	if k > nt {
		return nil, errNoNeighbours
	}
	norms := make([]float32, nt)
	for t := range norms {
		row := train[t*dim : (t+1)*dim]
		for _, v := range row {
			norms[t] += v * v / 2
		}
	}
	out := make([]int32, nq*k)
	blocks := make(chan int)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			s := newSelection(k)
			products := make([]float32, queryBlock*trainTile)
			for start := range blocks {
				end := min(start+queryBlock, nq)
				s.block(out[start*k:end*k], products, train, query[start*dim:end*dim], norms, dim)
			}
		})
	}
	var err error
	for start := 0; start < nq && err == nil; start += queryBlock {
		blocks <- start
		err = ctx.Err()
	}
	close(blocks)
	wait.Wait()
	return out, err
}

// selection keeps the k smallest distances of every row of a block as max-heaps.
type selection struct {
	k     int
	heaps [queryBlock]neighbourHeap
}

func newSelection(k int) *selection {
	s := &selection{k: k}
	for i := range s.heaps {
		s.heaps[i] = make(neighbourHeap, 0, k)
	}
	return s
}

func (s *selection) block(out []int32, products, train, query, norms []float32, dim int) {
	rows := len(query) / dim
	for i := range rows {
		s.heaps[i] = s.heaps[i][:0]
	}
	for first := 0; first < len(norms); first += trainTile {
		last := min(first+trainTile, len(norms))
		tile := blas32.General{Rows: rows, Cols: last - first, Stride: last - first, Data: products[:rows*(last-first)]}
		blas32.Gemm(blas.NoTrans, blas.Trans, 1,
			blas32.General{Rows: rows, Cols: dim, Stride: dim, Data: query},
			blas32.General{Rows: last - first, Cols: dim, Stride: dim, Data: train[first*dim : last*dim]}, 0, tile)
		for i := range rows {
			s.heaps[i] = s.heaps[i].offer(tile.Data[i*tile.Cols:(i+1)*tile.Cols], norms[first:last], first, s.k)
		}
	}
	for i := range rows {
		s.heaps[i].drain(out[i*s.k : (i+1)*s.k])
	}
}

// neighbour is a training row and half its squared distance, less half the
// squared norm of the query, which orders nothing.
type neighbour struct {
	distance float32
	row      int32
}

func (n neighbour) further(o neighbour) bool {
	return n.distance > o.distance || n.distance == o.distance && n.row > o.row
}

// neighbourHeap has the furthest neighbour on top.
type neighbourHeap []neighbour

// offer goes through a tile of training rows, ascending from first, so that an
// equal distance never displaces a smaller index.
func (h neighbourHeap) offer(products, norms []float32, first, k int) neighbourHeap {
	for c, p := range products {
		d := norms[c] - p
		if len(h) < k {
			h = append(h, neighbour{d, int32(first + c)})
			h.up(len(h) - 1)
			continue
		}
		if d < h[0].distance {
			h[0] = neighbour{d, int32(first + c)}
			h.down(len(h))
		}
	}
	return h
}

func (h neighbourHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].further(h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// down restores the order of the first n entries after the top changed.
func (h neighbourHeap) down(n int) {
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			return
		}
		if child+1 < n && h[child+1].further(h[child]) {
			child++
		}
		if !h[child].further(h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// drain writes the rows to dst, nearest first, and empties the order.
func (h neighbourHeap) drain(dst []int32) {
	for n := len(h); n > 0; n-- {
		dst[n-1] = h[0].row
		h[0], h[n-1] = h[n-1], h[0]
		h.down(n - 1)
	}
}
