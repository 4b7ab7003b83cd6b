package regress

import (
	"context"
	"errors"
	"fmt"

	"pipe/onnx"
	"pipe/onnx/ort"
)

// productGraph multiplies a block of queries by a tile of training rows.
type productGraph struct {
	rt      *ort.Runtime
	session *ort.Session
	dim     int
	tiles   []productTile
}

// productTile is a range of training rows, transposed, in runtime memory.
type productTile struct {
	first, rows int
	data        *ort.Buffer // dim x rows
}

// newProductGraph copies train (row-major, dim columns) into tiles. Several workers use it in parallel, so the session
// itself is single-threaded.
func newProductGraph(rt *ort.Runtime, train []float32, dim int) (p *productGraph, err error) {
	g := onnx.NewGraph("products")
	query := g.Input("query", onnx.Float32, onnx.Dims(queryBlock, int64(dim)))
	tile := g.Input("train", onnx.Float32, onnx.Shape{onnx.Fix(int64(dim)), onnx.Sym("rows")})
	g.Output("products", g.MatMul(query, tile))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		return nil, err
	}
	b, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	o := rt.SessionOptions()
	o.Threads = 1
	s, err := rt.Session(b, o)
	if err != nil {
		return nil, err
	}
	p = &productGraph{rt: rt, session: s, dim: dim}
	for first := 0; first < len(train)/dim; first += trainTile {
		rows := min(trainTile, len(train)/dim-first)
		data, err := rt.NewBuffer(onnx.Float32, int64(dim), int64(rows))
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.tiles = append(p.tiles, productTile{first, rows, data})
		transpose(data.Float32s(), train[first*dim:(first+rows)*dim], dim)
	}
	return p, nil
}

// transpose writes rows x dim as dim x rows.
func transpose(dst, src []float32, dim int) {
	rows := len(src) / dim
	for r := range rows {
		for c := range dim {
			dst[c*rows+r] = src[r*dim+c]
		}
	}
}

func (p *productGraph) close() error {
	var errs []error
	for _, t := range p.tiles {
		errs = append(errs, t.data.Close())
	}
	return errors.Join(append(errs, p.session.Close())...)
}

// productWorker holds the buffers of one goroutine.
type productWorker struct {
	graph *productGraph
	query *ort.Buffer         // queryBlock x dim
	out   map[int]*ort.Buffer // by rows of the tile: queryBlock x rows
}

func (p *productGraph) worker() (*productWorker, error) {
	query, err := p.rt.NewBuffer(onnx.Float32, queryBlock, int64(p.dim))
	if err != nil {
		return nil, err
	}
	return &productWorker{graph: p, query: query, out: make(map[int]*ort.Buffer)}, nil
}

// load sets the queries, at most queryBlock rows. Other rows of the block keep their old content, and their products
// are not used.
func (w *productWorker) load(query []float32) { copy(w.query.Float32s(), query) }

// products returns the inner products of the loaded queries with a tile,
// queryBlock x rows, valid until the next call.
func (w *productWorker) products(ctx context.Context, t productTile) ([]float32, error) {
	out := w.out[t.rows]
	if out == nil {
		var err error
		if out, err = w.graph.rt.NewBuffer(onnx.Float32, queryBlock, int64(t.rows)); err != nil {
			return nil, err
		}
		w.out[t.rows] = out
	}
	if err := w.graph.session.RunBuffers(ctx, []*ort.Buffer{w.query, t.data}, []*ort.Buffer{out}); err != nil {
		return nil, fmt.Errorf("distances: %w", err)
	}
	return out.Float32s(), nil
}

func (w *productWorker) close() error {
	errs := []error{w.query.Close()}
	for _, b := range w.out {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}
