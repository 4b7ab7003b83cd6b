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
