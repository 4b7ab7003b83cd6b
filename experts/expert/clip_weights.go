package expert

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"pipe/experts/builder/part"
	"pipe/experts/embedding"
	"pipe/onnx/ort"
)

// Prepare computes the class weights that are missing from the folder of experts,
// and opens the graph.
func (e *clip) Prepare(ctx context.Context, t *part.Preparation) error {
	weights, err := e.weights(ctx, t)
	if err != nil {
		return err
	}
	tower, err := e.vision() // only when the text tower is no longer in memory
	if err != nil {
		return err
	}
	graph, err := clipGraph(tower, weights, e.dim, e.scale, e.vectors.Wanted())
	if err != nil {
		return err
	}
	b, err := graph.Marshal()
	if err != nil {
		return err
	}
	o := e.runtime.SessionOptions()
	if o.Device == ort.CPU {
		o.Threads = 1 // shards run concurrently
	}
	e.session, err = e.runtime.Session(b, o)
	return err
}

// weights returns the class weights of every family, each classes x dim.
func (e *clip) weights(ctx context.Context, t *part.Preparation) ([][]float32, error) {
	files, weights := make([]*classWeightFile, len(e.families)), make([][]float32, len(e.families))
	for i := range files {
		files[i] = newClassWeightFile(t.Folder, e.bases[i], len(e.names))
		var err error
		if weights[i], err = files[i].Read(e.dim); err != nil {
			return nil, fmt.Errorf("read class weights: %w", err)
		}
	}
	if !slices.ContainsFunc(weights, func(w []float32) bool { return w == nil }) {
		return weights, ctx.Err()
	}
	return weights, e.makeWeights(ctx, t, files, weights)
}

// makeWeights computes the weights that are nil. The vectors of texts stay in the
// folder of experts, so that a build that was killed, or one with more templates,
// does not compute them again. In memory they take texts x dim x 4 bytes, during
// this call only.
func (e *clip) makeWeights(ctx context.Context, t *part.Preparation, files []*classWeightFile, weights [][]float32) (err error) {
	vectors, err := e.embed(ctx, t, weights)
	if err != nil {
		return err
	}
	for i, templates := range e.families {
		if weights[i] != nil {
			continue
		}
		if weights[i], err = classWeights(templates, e.names, e.dim, func(text string) []float32 { return vectors[text] }); err != nil {
			return err
		}
		if err := checkDistinct(weights[i], e.names, e.dim); err != nil {
			return fmt.Errorf("model %q: %w", e.model, err)
		}
		if err := files[i].Write(weights[i]); err != nil {
			return fmt.Errorf("write class weights: %w", err)
		}
	}
	return ctx.Err()
}

// embed returns the vectors of the prompts of all families whose weights are nil, by prompt.
func (e *clip) embed(ctx context.Context, t *part.Preparation, weights [][]float32) (map[string][]float32, error) {
	model, err := e.text()
	if err != nil {
		return nil, err
	}
	texts := make(map[string]bool)
	for i, templates := range e.families {
		if weights[i] != nil {
			continue
		}
		if err := checkPrompts(templates, e.names, model.Excess); err != nil {
			return nil, err
		}
		for _, text := range classPrompts(templates, e.names) {
			texts[text] = true
		}
	}
	encoder, err := model.Open(e.runtime, t.Workers)
	if err != nil {
		return nil, err
	}
	defer encoder.Close()
	if encoder.Dim() != e.dim {
		return nil, fmt.Errorf("model %q: its text vectors have dimension %d, its image vectors %d", e.model, encoder.Dim(), e.dim)
	}
	return embedAll(ctx, t, encoder, texts)
}

// embedAll returns the vectors of texts by text.
func embedAll(ctx context.Context, t *part.Preparation, encoder part.TextEncoder, texts map[string]bool) (map[string][]float32, error) {
	m, err := embedding.New(ctx, encoder, t.Folder, "texts")
	if err != nil {
		return nil, err
	}
	if err := m.Ensure(ctx, texts, t.Progress); err != nil {
		return nil, err
	}
	list := slices.Collect(maps.Keys(texts))
	found, err := m.Vectors(ctx, list)
	if err != nil {
		return nil, err
	}
	vectors := make(map[string][]float32, len(list))
	for i, text := range list {
		vectors[text] = found[i]
	}
	return vectors, nil
}
