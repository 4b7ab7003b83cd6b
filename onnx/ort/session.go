package ort

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	yort "github.com/yalue/onnxruntime_go"

	"pipe/internal/lists"
	"pipe/internal/textfile"
	"pipe/onnx"
)

// Session is a loaded graph. Run and RunBuffers are safe for concurrent use.
type Session struct {
	name     string // for errors
	rt       *Runtime
	inputs   []onnx.IO
	outputs  []onnx.IO
	unranked map[string]bool
	flush    bool // denormals to zero

	closing atomic.Bool // refuses new calls while Close waits for running ones

	mu     sync.RWMutex // held for reading while a call runs
	native *yort.DynamicAdvancedSession
	idle   chan *yort.RunOptions // spare run options, kept for cancellable calls
}

// Session loads a model from its bytes, which are not kept. It cannot load external data: use SessionFile for that.
func (r *Runtime) Session(model []byte, o SessionOptions) (*Session, error) {
	return r.open("model", o, bytes.NewReader(model), int64(len(model)),
		func(in, out []string, n *yort.SessionOptions) (*yort.DynamicAdvancedSession, error) {
			return yort.NewDynamicAdvancedSessionWithONNXData(model, in, out, n)
		})
}

// SessionFile loads a model file and the external data beside it.
func (r *Runtime) SessionFile(path string, o SessionOptions) (*Session, error) {
	f, size, err := textfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load model: %w", err)
	}
	defer f.Close()
	return r.open(filepath.Base(path), o, f, size,
		func(in, out []string, n *yort.SessionOptions) (*yort.DynamicAdvancedSession, error) {
			return yort.NewDynamicAdvancedSession(path, in, out, n)
		})
}

type creator func(inputs, outputs []string, o *yort.SessionOptions) (*yort.DynamicAdvancedSession, error)

func (r *Runtime) open(name string, o SessionOptions, src io.Reader, size int64, create creator) (*Session, error) {
	s, err := r.create(name, o, src, size, create)
	if err != nil {
		return nil, fmt.Errorf("load model %q: %w", name, err)
	}
	if err := r.adopt(s); err != nil {
		return nil, errors.Join(fmt.Errorf("load model %q: runtime %w", name, err), s.Close())
	}
	return s, nil
}

func (r *Runtime) create(name string, o SessionOptions, src io.Reader, size int64, create creator) (*Session, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	h, err := readHeader(src, size)
	if err != nil {
		return nil, err
	}
	outputs, err := selectOutputs(h.outputs, o.Outputs)
	if err != nil {
		return nil, err
	}
	if len(h.inputs) == 0 || len(outputs) == 0 {
		return nil, errors.New("the graph needs at least one input and one output")
	}
	n, err := r.nativeOptions(o)
	if err != nil {
		return nil, err
	}
	defer n.Destroy()
	s := &Session{
		name: name, rt: r, inputs: h.inputs, outputs: outputs, unranked: h.unranked,
		flush: o.DenormalsAsZero, idle: make(chan *yort.RunOptions, 4),
	}
	err = keepingFloatMode(func() (err error) {
		s.native, err = create(names(s.inputs), names(outputs), n)
		return err
	})
	if err != nil {
		return nil, native(err)
	}
	return s, nil
}

// selectOutputs picks want from all, in the order of want; nil means all.
func selectOutputs(all []onnx.IO, want []string) ([]onnx.IO, error) {
	if want == nil {
		return all, nil
	}
	var out []onnx.IO
	for _, name := range want {
		i := indexOf(all, name)
		if i < 0 {
			return nil, fmt.Errorf("has no output %q: it has %q", name, names(all))
		}
		out = append(out, all[i])
	}
	return out, nil
}

func indexOf(all []onnx.IO, name string) int {
	return slices.IndexFunc(all, func(io onnx.IO) bool { return io.Name == name })
}

func names(all []onnx.IO) []string {
	return lists.Each(all, func(io onnx.IO) string { return io.Name })
}

// Inputs lists the inputs of Run, in the order of the model. An open dimension has a name; without one it is "?".
func (s *Session) Inputs() []onnx.IO { return slices.Clone(s.inputs) }

// Outputs lists the outputs of Run, in the order of SessionOptions.Outputs, or else of the model.
func (s *Session) Outputs() []onnx.IO { return slices.Clone(s.outputs) }

// Close waits for running calls, refuses new ones and frees the graph.
func (s *Session) Close() error {
	s.rt.forget(s)
	s.closing.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.native == nil {
		return nil
	}
	var errs []error
	for len(s.idle) > 0 {
		errs = append(errs, (<-s.idle).Destroy())
	}
	errs = append(errs, s.native.Destroy())
	s.native = nil
	return errors.Join(errs...)
}
