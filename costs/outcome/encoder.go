package outcome

import "context"

// TextEncoder makes the vectors of texts.
type TextEncoder interface {
	// Identity is the name of features that are the vectors alone, and what
	// identifies how they are made.
	Identity() (name, digest string)
	Digest() string // of the encoder
	// Vectors returns a vector per text, all of one length. The caller must not
	// modify them.
	Vectors(ctx context.Context, texts []string) ([][]float32, error)
}

// OpenText opens the encoder that a configuration names. The caller of Import
// closes it.
type OpenText func(ctx context.Context, encoder string) (TextEncoder, error)
