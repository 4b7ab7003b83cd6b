package source

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"pipe/experts/builder/part"
	"pipe/featurize/pixel"
	"pipe/internal/digest"
	"pipe/internal/parallel"
	"pipe/internal/storage"
)

// imageCheck decodes every image of a source once, several at a time. Memory
// holds one file per worker, and the pixels that the gate admits.
type imageCheck struct {
	folder   storage.Location
	decoder  pixel.Decoder
	limits   pixel.Limits
	workers  int
	progress part.Progress
	gate     *pixel.Gate
}

// checkedImage is the result of checking an image.
type checkedImage struct {
	sum string // digest of the file; "" if it cannot be read
	usability
}

// checkRows is how many images are checked between two saves of the results. A
// killed check loses at most that many.
const checkRows = 256

// run checks the images of all entries. Results of earlier runs are kept in a
// file of the given folder.
func (c *imageCheck) run(ctx context.Context, folder string, entries []part.Entry) ([]checkedImage, error) {
	v, err := openVerdicts(ctx, folder, c.decoder.Name(), c.limits)
	if err != nil {
		return nil, err
	}
	return c.look(ctx, entries, v.get, v.add)
}

// look checks the images of entries. known are results of images by their digests; keep is given new ones.
func (c *imageCheck) look(ctx context.Context, entries []part.Entry, known func(sum string) (usability, bool), keep func(context.Context, []checkedImage) error) ([]checkedImage, error) {
	c.progress.Start(int64(len(entries)), "images to check")
	defer c.progress.Done()
	out := make([]checkedImage, len(entries))
	for from := 0; from < len(entries); from += checkRows {
		some := out[from:min(from+checkRows, len(entries))]
		err := parallel.Each(ctx, c.workers, len(some), func(ctx context.Context, i int) (err error) {
			some[i], err = c.lookAt(ctx, entries[from+i].ID, known)
			c.progress.Add(1)
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := keep(ctx, some); err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

// lookAt reads an image, and decodes it if its content is new. The error is nil
// if only the image is bad.
func (c *imageCheck) lookAt(ctx context.Context, id string, known func(sum string) (usability, bool)) (checkedImage, error) {
	b, err := c.limits.ReadFile(ctx, c.folder.Join(filepath.FromSlash(id)))
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return checkedImage{}, err
	}
	if err != nil && !lasting(err) {
		return checkedImage{}, err
	}
	if err != nil {
		return checkedImage{usability: usability{reason: cause(err)}}, nil
	}
	found := checkedImage{sum: digest.Of(b)}
	var ok bool
	if found.usability, ok = known(found.sum); ok {
		return found, nil
	}
	if found.pixels, err = c.decode(b); err != nil {
		found.reason = strings.TrimPrefix(err.Error(), "decode image: ")
	}
	return found, nil
}

// lasting reports whether an error is one of the image: not of a store that cannot be reached now.
func lasting(err error) bool {
	var failed *storage.Error
	return !errors.As(err, &failed) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// decode returns the number of pixels.
func (c *imageCheck) decode(b []byte) (pixels int, err error) {
	if err := c.limits.Check(b); err != nil {
		return 0, err
	}
	width, height, err := pixel.Size(b)
	if err != nil {
		return 0, err
	}
	c.gate.Enter(width * height)
	defer c.gate.Leave(width * height)
	if _, err = c.decoder.Decode(b); err != nil {
		return 0, err
	}
	return width * height, nil
}
