package part

import (
	"context"
)

// Feature is a block of what a policy sees. It is safe for concurrent use.
type Feature interface {
	Name() string // short, such as "pooled 4x4"
	Dim() int     // values per instance, at least 1, always the same
	// Encode writes the block of every instance into dst, instances x Dim. All
	// values are finite. Errors name the instance.
	Encode(ctx context.Context, dst []float32, b *Batch) error
}

// DerivedFeature is implemented by a Feature that another part computes: From returns
// that part's name, whose models then identify the features too.
type DerivedFeature interface {
	From() string
}

// TextFeature is a Feature of vectors of texts.
type TextFeature interface {
	Feature
	// Vectors returns the vector of every text, which the caller must not modify.
	Vectors(ctx context.Context, texts []string) ([][]float32, error)
}

// Batch is a group of instances with the answers that were given for them.
type Batch struct {
	Instances []Instance
	Answers   [][][]Prediction // expert x advice x instance; nil where a pair does not exist
}
