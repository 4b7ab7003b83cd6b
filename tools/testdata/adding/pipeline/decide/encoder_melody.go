package decide

import (
	"context"

	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// InputMelody is what a router of melodies decides on.
const InputMelody = featurize.InputMelody

// melodyEncoder encodes melodies.
type melodyEncoder struct{ *featurize.MelodyEncoder }

func openMelodies(rt *ort.Runtime, inside *onnx.Model, o encoderOptions) (vectors, error) {
	var m *featurize.MelodyModel
	var err error
	if inside != nil {
		m, err = featurize.ParseMelodyModel(inside)
	} else {
		m, err = featurize.ReadMelodyModel(o.name)
	}
	if err != nil {
		return nil, err
	}
	e, err := m.Open(rt)
	if err != nil {
		return nil, err
	}
	return &melodyEncoder{e}, nil
}

func (e *melodyEncoder) most() int { return 0 }

func (e *melodyEncoder) field(storage.Location) func(ctx context.Context, dst []float32, melodies []string) error {
	return e.Encode
}
