package featurize

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"pipe/featurize/tokenizer"
	"pipe/internal/dataerror"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/ort"
)

// TextEncoderOptions say how texts are encoded.
type TextEncoderOptions struct {
	TextModelOptions
	Workers int // batches encoded concurrently, each on one thread; 0: one per core
}

// DefaultTextEncoderOptions are the model's own settings, on all cores.
func DefaultTextEncoderOptions() TextEncoderOptions { return TextEncoderOptions{} }

// Validate reports every problem at once.
func (o TextEncoderOptions) Validate() error {
	err := o.TextModelOptions.Validate()
	if o.Workers < 0 {
		err = errors.Join(err, fmt.Errorf("text encoder: workers is %d; it must be at least 0", o.Workers))
	}
	return err
}

// TextEncoder turns texts into vectors. It is safe for concurrent use.
type TextEncoder struct {
	name      string
	digest    string
	dim       int
	vocab     int64
	end       int64 // as in hf.Config
	tokenizer *tokenizer.Tokenizer
	tokens    tokenizer.Options
	inputs    []string
	session   *ort.Session
	device    string
	workers   int
}

// OpenTextEncoder opens an encoder: a model folder in Hugging Face's format, an
// .onnx file, or the name of a model in the local cache; see ReadTextModel for
// the files and the errors.
func OpenTextEncoder(rt *ort.Runtime, name string, o TextEncoderOptions) (*TextEncoder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m, err := ReadTextModel(name, o.TextModelOptions)
	if err != nil {
		return nil, err
	}
	e, err := m.Open(rt, o.Workers)
	if err != nil {
		return nil, fmt.Errorf("open encoder: %w", &dataerror.Error{File: name, Err: err})
	}
	return e, nil
}

// Open loads the graph. workers is as in TextEncoderOptions, negative like 0.
func (m *TextModel) Open(rt *ort.Runtime, workers int) (*TextEncoder, error) {
	s, device, workers, err := openEncoder(rt, m.Graph, hf.SentenceEmbedding, workers)
	if err != nil {
		return nil, err
	}
	e := &TextEncoder{
		name: m.Name, digest: m.Digest(), vocab: m.Vocab, end: m.end, tokenizer: m.Tokenizer, session: s, device: device, workers: workers,
		tokens: m.textTokens(),
	}
	for _, in := range s.Inputs() {
		e.inputs = append(e.inputs, in.Name)
	}
	if err := e.probe(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// openEncoder loads a graph with one output, and returns the device that it runs on and the number of workers, one per core where
// none is given.
func openEncoder(rt *ort.Runtime, m *onnx.Model, output string, workers int) (*ort.Session, string, int, error) {
	graph, err := m.Marshal()
	if err != nil {
		return nil, "", 0, err
	}
	o := rt.SessionOptions()
	if o.Device == ort.CPU {
		// Concurrent batches keep the cores busier than threads within an
		// operator, and one thread always adds in the same order.
		o.Threads = 1
	}
	o.Outputs = []string{output}
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	s, err := rt.Session(graph, o)
	return s, o.Device, workers, err
}

// probe encodes a text to learn the length of a vector, and to check early that
// the graph runs.
func (e *TextEncoder) probe() error {
	ids := e.tokenizer.Encode("probe", e.tokens)
	if len(ids.IDs) == 0 {
		return errors.New("the tokenizer returns no tokens for a word")
	}
	out, err := e.run(context.Background(), []tokenizer.Encoding{ids})
	if err != nil {
		return err
	}
	if len(out.Shape) != 2 || out.Shape[0] != 1 || out.Shape[1] < 1 {
		return fmt.Errorf("the graph returns vectors of shape %v for one text", out.Shape)
	}
	e.dim = int(out.Shape[1])
	return nil
}

// Name is the name of the model, without its location.
func (e *TextEncoder) Name() string { return e.name }

// Dim is the length of a vector.
func (e *TextEncoder) Dim() int { return e.dim }

// Digest identifies everything that affects vectors: weights, tokenizer and settings.
func (e *TextEncoder) Digest() string { return e.digest }

// Device is the device that vectors are computed on; their last digits depend on it.
func (e *TextEncoder) Device() string { return e.device }

// Close frees the model; it waits for running calls.
func (e *TextEncoder) Close() error { return e.session.Close() }

// run computes the vectors of texts of one length in tokens.
func (e *TextEncoder) run(ctx context.Context, texts []tokenizer.Encoding) (*onnx.Tensor, error) {
	in := make(map[string]*onnx.Tensor, len(e.inputs))
	for _, name := range e.inputs {
		in[name] = tokenTensor(texts, name)
	}
	out, err := e.session.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	return out[hf.SentenceEmbedding], nil
}
