package featurize

import (
	"context"
	"errors"
	"fmt"

	"pipe/featurize/pixel"
	"pipe/internal/dataerror"
	"pipe/onnx/ort"
)

// ImageEncoder turns images into vectors. It is safe for concurrent use.
type ImageEncoder struct {
	name       string
	digest     string
	dim        int
	preprocess pixel.Preprocess
	session    *ort.Session
	device     string
	batch      int
	fixed      bool // the graph takes batches of this size only
	workers    int
}

// OpenImageEncoder opens an encoder: a model folder in Hugging Face's format,
// an .onnx file, or the name of a model in the local cache; see ReadImageModel
// for the files and the errors. workers is the number of batches encoded
// concurrently, on the CPU each on one thread; 0: one per core.
func OpenImageEncoder(rt *ort.Runtime, name string, o ImageModelOptions, workers int) (*ImageEncoder, error) {
	if workers < 0 {
		return nil, fmt.Errorf("image encoder: workers is %d; it must be at least 0", workers)
	}
	m, err := ReadImageModel(name, o)
	if err != nil {
		return nil, err
	}
	e, err := m.Open(rt, workers)
	if err != nil {
		return nil, fmt.Errorf("open encoder: %w", &dataerror.Error{File: name, Err: err})
	}
	return e, nil
}

// Open loads the graph. workers is as in OpenImageEncoder, negative like 0.
func (m *ImageModel) Open(rt *ort.Runtime, workers int) (*ImageEncoder, error) {
	s, device, workers, err := openEncoder(rt, m.Graph, ImageEmbedding, workers)
	if err != nil {
		return nil, err
	}
	e := &ImageEncoder{name: m.Name, digest: m.Digest(), preprocess: m.Preprocess, session: s, device: device, batch: batchImages, workers: workers}
	if d := m.Graph.Inputs()[0].Shape[0]; d.Known() {
		e.batch, e.fixed = int(d.Size), true
	}
	if err := e.probe(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// probe encodes black images to learn the length of a vector, and to check
// early that the graph runs.
func (e *ImageEncoder) probe() error {
	n := 1
	if e.fixed {
		n = e.batch
	}
	out, err := e.run(context.Background(), n, make([]uint8, n*e.preprocess.Len()))
	if err != nil {
		return err
	}
	if len(out.Shape) != 2 || out.Shape[0] != int64(n) || out.Shape[1] < 1 {
		return fmt.Errorf("the graph returns vectors of shape %v for %d images", out.Shape, n)
	}
	e.dim = int(out.Shape[1])
	return nil
}

// Name is the name of the model, without its location.
func (e *ImageEncoder) Name() string { return e.name }

// Dim is the length of a vector.
func (e *ImageEncoder) Dim() int { return e.dim }

// Digest identifies everything that affects vectors except the decoding of images.
func (e *ImageEncoder) Digest() string { return e.digest }

// Preprocess is the preprocessing of images.
func (e *ImageEncoder) Preprocess() pixel.Preprocess { return e.preprocess }

// Device is the device that vectors are computed on; their last digits depend on it.
func (e *ImageEncoder) Device() string { return e.device }

// Close frees the model; it waits for running calls.
func (e *ImageEncoder) Close() error { return e.session.Close() }
