package builder

import (
	"context"
	"errors"
	"fmt"

	"pipe/experts/builder/part"
	"pipe/featurize/pixel"
	"pipe/internal/parallel"
)

// Album holds small pictures of some instances.
type Album struct {
	JPEG  map[string][]byte `json:"jpeg"`            // by the instance's id
	Names map[string]string `json:"names,omitempty"` // what people call labels, where the source knows
}

// Pictures returns small JPEG pictures of some instances of a build: the whole
// image, its longer side at most side pixels. It makes the source alone. An id
// that the build does not have, and instances that are no images, are errors.
func Pictures(ctx context.Context, cfg part.Config, o Options, ids []string, side int) (_ *Album, err error) {
	defer titled(&err, "pictures")
	if side < 1 {
		return nil, fmt.Errorf("a side of %d pixels", side)
	}
	if _, err := o.complete(ctx, &cfg); err != nil {
		return nil, err
	}
	p := blankPlan(&cfg, &o)
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.make(ctx, p.makeSource); err != nil {
		return nil, err
	}
	rows, err := p.rowsOf(ids)
	if err != nil {
		return nil, err
	}
	files := make([][]byte, len(rows))
	err = parallel.Each(ctx, p.Workers, len(rows), func(ctx context.Context, i int) error {
		loaded, err := p.Load(ctx, rows[i:i+1])
		if err != nil {
			return err
		}
		if loaded[0].Image == nil {
			return fmt.Errorf("instances of kind %q are no images", cfg.Instances.Kind)
		}
		files[i], err = pixel.Thumbnail(loaded[0].Image, side)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &Album{JPEG: make(map[string][]byte, len(ids))}
	for i, id := range ids {
		out.JPEG[id] = files[i]
	}
	if c, ok := p.Source.(part.ClassLister); ok {
		out.Names = c.LabelNames()
	}
	return out, nil
}

// rowsOf returns the rows of instances.
func (p *plan) rowsOf(ids []string) ([]int, error) {
	at := make(map[string]int, len(p.Source.Entries()))
	for n, e := range p.Source.Entries() {
		at[e.ID] = n
	}
	rows := make([]int, len(ids))
	for i, id := range ids {
		row, ok := at[id]
		if !ok {
			return nil, fmt.Errorf("there is no instance %q", id)
		}
		rows[i] = row
	}
	return rows, nil
}
