package eval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/featurize/pixel"
	"pipe/pipeline/costing"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// pictureSide is the longer side of the pictures of examples, in pixels.
const pictureSide = 160

// album has pictures of the examples of a report: the images of the configuration that made the tensor, or of a folder in
// which ids are paths. It is nil without examples.
func (o Options) album(ctx context.Context, r *report.Report, progress stage.Progress) (out *builder.Album, err error) {
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
	if stage.IsFolder(ctx, o.Pictures) {
		return o.albumIn(ctx, r, ids)
	}
	c := costing.Options{Config: o.Pictures, Out: o.Tensor, SkipBad: true, Runtime: o.Runtime}
	cfg, b, closeRuntime, err := c.Open(ctx, progress)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeRuntime()) }()
	return builder.Pictures(ctx, cfg, b, ids, pictureSide)
}

// albumIn has the pictures of a folder. An id without such a file has none, which is noted; a file that is no image is a
// *costs.DataError.
func (o Options) albumIn(ctx context.Context, r *report.Report, ids []string) (*builder.Album, error) {
	album := &builder.Album{JPEG: map[string][]byte{}}
	for _, id := range ids {
		jpeg, err := o.pictureIn(ctx, id)
		if err != nil {
			return nil, err
		}
		if jpeg != nil {
			album.JPEG[id] = jpeg
		}
	}
	if n := len(ids) - len(album.JPEG); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of the %d rows that are shown have no image in %s: an id must be the path of its image in that folder.", n, len(ids), o.Pictures))
	}
	return album, nil
}

// pictureIn returns the picture of one id, nil if there is none. No id leads out of the folder.
func (o Options) pictureIn(ctx context.Context, id string) ([]byte, error) {
	if !filepath.IsLocal(id) {
		return nil, nil
	}
	path, limits := o.Pictures.Join(id), pixel.DefaultLimits()
	b, err := limits.ReadFile(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = limits.Check(b)
	}
	var img *pixel.Image
	if err == nil {
		img, err = pixel.Decode(b)
	}
	if err != nil {
		return nil, &costs.DataError{File: path.String(), Err: err}
	}
	return pixel.Thumbnail(img, pictureSide)
}
