package decide

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// errNotText is the error about a text that is not UTF-8. A file with such a row is refused too.
var errNotText = errors.New("is not UTF-8 text")

// vectors is an encoder whose vectors are the policy's features.
type vectors interface {
	Name() string
	Dim() int
	Digest() string
	Close() error
	// most is how many rows of a file are encoded at once; 0: as many as of features.
	most() int
	// field returns what encodes the values of one field of raw rows into dst, values x dimension. Paths among them are
	// relative to a folder.
	field(folder storage.Location) func(ctx context.Context, dst []float32, values []string) error
}

// encoderOptions say which encoder is opened, and how.
type encoderOptions struct {
	name    string // empty if the policy has its encoder inside
	decoder string // of images
	workers int
}

// vectorOpeners open the encoders of each kind of input: the one inside the policy, if there is one, else the one of that
// name.
var vectorOpeners = map[string]func(rt *ort.Runtime, inside *onnx.Model, o encoderOptions) (vectors, error){
	featurize.InputImage: openImages,
	featurize.InputText:  openTexts,
}

// openVectors opens the encoder in front of the policy, or else the one that the options name.
func openVectors(rt *ort.Runtime, f *PolicyFile, input string, o encoderOptions) (vectors, error) {
	open := vectorOpeners[input]
	if open == nil {
		return nil, fmt.Errorf("policy %q: no encoder of %ss can be opened", f.path, input)
	}
	v, err := open(rt, f.encoder, o)
	if err != nil && f.encoder != nil {
		err = &costs.DataError{Err: fmt.Errorf("policy %q: the encoder in front: %w", f.path, err)}
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// infoOf is the description of an encoder, which is compared with the policy.
func infoOf(input string, v vectors) featurize.EncoderInfo {
	return featurize.EncoderInfo{Input: input, Name: v.Name(), Dim: v.Dim(), Digest: v.Digest()}
}
