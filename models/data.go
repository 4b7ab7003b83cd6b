package models

import (
	"errors"

	"pipe/onnx"
	"pipe/onnx/ort"
)

// trainingData are the problem's arrays as runtime buffers, shared by all
// sessions of a training run.
type trainingData struct {
	rt               *ort.Runtime
	features, target *ort.Buffer
	known            *ort.Buffer // nil if every target is known
	digest           string      // only if checkpoints are saved
}

func newTrainingData(rt *ort.Runtime, p *Problem, digest bool) (*trainingData, error) {
	n := int64(p.Len())
	d := &trainingData{rt: rt}
	if digest {
		d.digest = p.digest()
	}
	var err1, err2, err3 error
	d.features, err1 = rt.BufferOf(onnx.Float32s([]int64{n, int64(p.Dim)}, p.Features))
	d.target, err2 = rt.BufferOf(onnx.Float32s([]int64{n, int64(p.actions())}, p.Target))
	if p.Known != nil {
		d.known, err3 = rt.BufferOf(onnx.Float32s([]int64{n, int64(p.actions())}, p.Known))
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *trainingData) Close() {
	for _, b := range []*ort.Buffer{d.features, d.target, d.known} {
		if b != nil {
			b.Close()
		}
	}
}
