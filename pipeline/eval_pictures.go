package pipeline

import (
	"context"
	"slices"

	"pipe/costs/builder"
	"pipe/costs/builder/part"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// pictureSide is the longer side of the pictures of examples, in pixels.
const pictureSide = 160

// album has pictures of the examples of a report, from the images of the configuration that made the tensor. It is nil
// without examples.
func (o EvalOptions) album(ctx context.Context, r *report.Report, progress stage.Progress) (out *builder.Album, err error) {
	var ids []string
	for _, x := range r.Examples {
		for _, s := range x.Shown {
			ids = append(ids, s.ID)
		}
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 {
		return nil, nil
	}
	progress.Start(-1, "pictures")
	c := CostsOptions{Config: o.Pictures, Out: o.Tensor, SkipBad: true, Runtime: o.Runtime}
	err = c.build(progress, func(cfg part.Config, b builder.Options) error {
		out, err = builder.Pictures(ctx, cfg, b, ids, pictureSide)
		return err
	})
	return out, err
}
