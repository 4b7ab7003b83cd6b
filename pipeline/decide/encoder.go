package decide

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/featurize"
	"pipe/onnx/ort"
)

// vectors is an encoder of texts or of images; one of the two is nil.
type vectors struct {
	text  *featurize.TextEncoder
	image *imageEncoder
}

// openVectors opens the encoder in front of the policy, or else the one of that name.
func openVectors(rt *ort.Runtime, f *PolicyFile, input, name, decoder string, workers int) (v vectors, err error) {
	if input == featurize.InputImage {
		v.image, err = openImages(rt, f.encoder, name, decoder, workers)
	} else {
		v.text, err = openTexts(rt, f.encoder, name, workers)
	}
	if err != nil && f.encoder != nil {
		err = &costs.DataError{Err: fmt.Errorf("policy %q: the encoder in front: %w", f.path, err)}
	}
	return v, err
}

// info is the description of the encoder, which is compared with the policy.
func (v *vectors) info() featurize.EncoderInfo {
	if e := v.image; e != nil {
		return featurize.EncoderInfo{Input: featurize.InputImage, Name: e.Name(), Dim: e.Dim(), Digest: e.Digest()}
	}
	e := v.text
	return featurize.EncoderInfo{Input: featurize.InputText, Name: e.Name(), Dim: e.Dim(), Digest: e.Digest()}
}

func (v *vectors) close() error {
	var errs []error
	if v.text != nil {
		errs = append(errs, v.text.Close())
	}
	if v.image != nil {
		errs = append(errs, v.image.Close())
	}
	return errors.Join(errs...)
}

// encodeTexts writes the vector of every text into dst, texts x dimension.
func (v *vectors) encodeTexts(ctx context.Context, dst []float32, texts []string) error {
	return v.text.Encode(ctx, dst, texts)
}
