package part

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/featurize/tabular"
)

// Encoder returns the encoder of the instances. It is an error if the source has none.
func (b *Build) Encoder() (*tabular.Encoder, error) {
	if e, ok := b.Source.(EncodedSource); ok {
		return e.Encoder(), nil
	}
	return nil, errors.New("column groups are requested, but the instances are not of kind tabular")
}

// Load returns the instances of the given rows, in that order. A source that gives others, or more or fewer, is an error.
func (b *Build) Load(ctx context.Context, rows []int) ([]Instance, error) {
	list, err := b.Source.Load(ctx, rows)
	if err != nil {
		return nil, err
	}
	if len(list) != len(rows) {
		return nil, fmt.Errorf("instances: the source gave %d instances for %d rows", len(list), len(rows))
	}
	entries := b.Source.Entries()
	for n, row := range rows {
		if in := &list[n]; in.Row != row || in.Entry != entries[row] {
			return nil, fmt.Errorf("instances: the source gave row %d, %+v, for row %d, %+v", in.Row, in.Entry, row, entries[row])
		}
	}
	return list, nil
}

// CheckImages returns the error of a source whose first instance has no image.
func (b *Build) CheckImages(ctx context.Context) error {
	first, err := b.Load(ctx, []int{0})
	if err != nil {
		return err
	}
	return first[0].needImage()
}

// CheckTexts returns the error of a source whose first instance has no text.
func (b *Build) CheckTexts(ctx context.Context) error {
	first, err := b.Load(ctx, []int{0})
	if err != nil {
		return err
	}
	return first[0].NeedText()
}

// Texts returns the text of every instance of the source. An instance without one is an error.
func (b *Build) Texts(ctx context.Context) ([]string, error) {
	texts := make([]string, 0, len(b.Source.Entries()))
	err := b.EachInstance(ctx, func(in *Instance) error {
		texts = append(texts, in.Text)
		return in.NeedText()
	})
	return texts, err
}

// EachInstance calls visit for every instance of the source, in order, until it returns an error. Some are loaded at a
// time: it is for sources of texts.
func (b *Build) EachInstance(ctx context.Context, visit func(in *Instance) error) error {
	const some = 4096
	rows := make([]int, len(b.Source.Entries()))
	for n := range rows {
		rows[n] = n
	}
	for part := range slices.Chunk(rows, some) {
		list, err := b.Load(ctx, part)
		if err != nil {
			return err
		}
		for n := range list {
			if err := visit(&list[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

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
