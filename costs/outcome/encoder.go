package outcome

import "context"

// Encoder makes the vectors of texts, or of images that their paths name.
type Encoder interface {
	// Identity is the name of features that are the vectors alone, and what
	// identifies how they are made.
	Identity() (name, digest string)
	Digest() string // of the encoder
	// Decoder is the name of what decodes the images, with its version; "" for
	// texts.
	Decoder() string
	// Vectors returns a vector per text or path, all of one length. The caller
	// must not modify them.
	Vectors(ctx context.Context, values []string) ([][]float32, error)
}

// OpenEncoder opens the encoder that a configuration names. The caller of
// Import closes it.
type OpenEncoder func(ctx context.Context, encoder, decoder string) (Encoder, error)
