package part

import "context"

// Pass is work on every item of a build, such as a look at every image, that parts need before the first row is made.
type Pass struct {
	Name   string            // a word, one pass of a build each
	Inputs map[string]string // digest or short text of everything that the results depend on, by name
	Items  int
	// Make returns the result of the items [from, to), the same bytes in every process. It is safe for concurrent use.
	Make func(ctx context.Context, from, to int) ([]byte, error)
}

// Divider has all workers of a build make a pass together. Each makes some ranges of the items, and all get the results of
// all ranges, in the order of the items.
type Divider func(ctx context.Context, pass Pass) ([][]byte, error)

// ImagesPass is the name of the pass that looks at every image.
const ImagesPass = "images"
