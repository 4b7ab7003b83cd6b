package decide

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"pipe/pipeline/stage"
)

// Encoder is an open encoder of texts or images, for several routers whose policies see the same features. It is safe for
// concurrent use.
type Encoder struct {
	input   string
	vectors vectors
}

// Encoder opens the encoder of a policy: the one in front of it, or else the one that the options name. It is nil for a
// policy that has neither, or whose encoder is that of a table. The caller closes it after the routers that use it. The
// errors are those of Open.
func (f *PolicyFile) Encoder(ctx context.Context, o Options) (*Encoder, error) {
	if err := checkDecoder(o.Decoder); err != nil {
		return nil, &stage.OptionError{Err: err}
	}
	input, err := f.input(ctx, o.Encoder)
	if err != nil || input == InputFeatures || input == InputRow {
		return nil, err
	}
	v, err := openVectors(o.Runtime, f, input, encoderOptions{o.Encoder, o.Decoder, max(1, o.Workers)})
	if err != nil {
		return nil, err
	}
	return &Encoder{input: input, vectors: v}, nil
}

// Close frees the encoder. It waits for running calls, and is idempotent.
func (e *Encoder) Close() error { return e.vectors.Close() }

// EncoderKey identifies the encoder of a policy by its content or, if the options name it, by its name: policies with the
// same key can share it. It is empty for a policy without an encoder of texts or images.
func (f *PolicyFile) EncoderKey(ctx context.Context, o Options) (string, error) {
	input, err := f.input(ctx, o.Encoder)
	if err != nil || input == InputFeatures || input == InputRow {
		return "", err
	}
	if f.encoder == nil {
		return fmt.Sprintf("%q %s %q", o.Encoder, input, o.Decoder), nil
	}
	graph, err := f.encoder.Digest()
	if err != nil {
		return "", err
	}
	about := f.encoder.Metadata()
	maps.DeleteFunc(about, func(key, _ string) bool { return !strings.HasPrefix(key, "pipe."+encoderKeys) })
	text, err := json.Marshal(about) // with its keys sorted
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(text, graph...))
	return fmt.Sprintf("%s %s %q", hex.EncodeToString(sum[:]), input, o.Decoder), nil
}
