package expert

import (
	"context"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/onnx"
)

// Labels returns the ids of the classes.
func (e *clip) Labels() []string { return e.labels }

// Takes reports whether a level of advice shows prompts.
func (e *clip) Takes(advice string) bool { return e.takes[advice] }

// Predict encodes every image once and reads the answers of all families.
func (e *clip) Predict(ctx context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	batch, err := part.Sized(batch, shown)
	if err != nil {
		return nil, err
	}
	logits, err := e.logits(ctx, batch)
	if err != nil {
		return nil, err
	}
	out, width := make([][]part.Prediction, len(shown)), len(e.families)*len(e.labels)
	for k, level := range shown {
		if level == nil {
			continue
		}
		out[k] = make([]part.Prediction, len(batch))
		for n := range batch {
			f := e.family(level[n].Prompts)
			if f < 0 {
				return nil, fmt.Errorf("instance %q is shown prompts that no level has", batch[n].ID)
			}
			from := n*width + f*len(e.labels)
			out[k][n] = e.prediction(logits[from : from+len(e.labels)])
		}
	}
	return out, nil
}

// prediction is the most likely class, the first one on ties.
func (e *clip) prediction(logits []float32) part.Prediction {
	best, p := Argmax(logits), slices.Clone(logits) // levels may show the same family
	softmax(p)
	return part.Prediction{Label: e.labels[best], Probabilities: p}
}

// logits returns the logits, instances x families x classes. The instances have sizes.
func (e *clip) logits(ctx context.Context, batch []part.Instance) ([]float32, error) {
	out := make([]float32, 0, len(batch)*len(e.families)*len(e.labels))
	for some := range slices.Chunk(batch, e.Batch) {
		pixels, err := e.pixels(some)
		if err != nil {
			return nil, err
		}
		got, err := e.session.Run(ctx, map[string]*onnx.Tensor{featurize.PixelsInput: pixels})
		if err != nil {
			return nil, err
		}
		values := got[clipLogits].Float32s()
		if len(values) != len(some)*len(e.families)*len(e.labels) {
			return nil, fmt.Errorf("model %q: logits of shape %v for %d images", e.model, got[clipLogits].Shape, len(some))
		}
		for i, v := range values {
			if v-v != 0 {
				return nil, fmt.Errorf("instance %q: a logit is %v", some[i/(len(e.families)*len(e.labels))].ID, v)
			}
		}
		out = append(out, values...)
		if err := e.keep(some, got[clipVectors]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// keep shares the vectors of images with other parts that use them. A single image rounds differently from one in a
// batch, so its vector is not shared.
func (e *clip) keep(batch []part.Instance, vectors *onnx.Tensor) error {
	if vectors == nil || len(batch) == 1 {
		return nil
	}
	values := vectors.Float32s()
	if len(values) != len(batch)*e.dim {
		return fmt.Errorf("model %q: vectors of shape %v for %d images", e.model, vectors.Shape, len(batch))
	}
	for n := range batch {
		e.vectors.Keep(batch[n].Sizes, values[n*e.dim:(n+1)*e.dim])
	}
	return nil
}

// pixels returns the preprocessed images, batch x height x width x 3.
func (e *clip) pixels(batch []part.Instance) (*onnx.Tensor, error) {
	size := e.preprocess.Len()
	raw := make([]uint8, len(batch)*size)
	for n := range batch {
		prepared, err := batch[n].Sizes.Prepared(e.preprocess)
		if err == nil {
			err = prepared.Pixels(raw[n*size:(n+1)*size], pixel.Centre())
		}
		if err != nil {
			return nil, &costs.DataError{Msg: fmt.Sprintf("instance %q", batch[n].ID), Err: err}
		}
	}
	shape := []int64{int64(len(batch)), int64(e.preprocess.Height), int64(e.preprocess.Width), 3}
	return &onnx.Tensor{DType: onnx.Uint8, Shape: shape, Raw: raw}, nil
}

// Close frees the model.
func (e *clip) Close() error {
	if e.session == nil {
		return nil
	}
	return e.session.Close()
}
