package build

import (
	"context"
	"fmt"
)

// Feature is a block of what a policy sees. It is safe for concurrent use.
type Feature interface {
	Name() string // short, such as "pooled 4x4"
	Dim() int     // values per instance
	// Encode writes the block of every instance into dst, instances x Dim. All
	// values are finite. Errors name the instance.
	Encode(ctx context.Context, dst []float32, b *Batch) error
}

// Derived is implemented by a Feature that another part computes: From returns
// that part's name, whose models then identify the features too.
type Derived interface {
	From() string
}

// featureIdentity is the text by which a block of features is known: its name,
// its width and the digests of the models that compute it. The feature digest of
// a tensor is that of its blocks' texts, one after the other.
func featureIdentity(f Feature, models ...string) string {
	return identityText(f.Name(), f.Dim(), models...)
}

func identityText(name string, dim int, models ...string) string {
	text := fmt.Sprintf("%s %d\n", name, dim)
	for _, m := range models {
		text += m + "\n"
	}
	return text
}

// Batch is a group of instances with the answers that were given for them.
type Batch struct {
	Instances []Instance
	Answers   [][][]Prediction // expert x advice x instance; nil where a pair does not exist
}
