package cloud

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"pipe/internal/storage"
)

// attempts is how often a driver tries a request, and firstPause about the pause after the first. Package storage repeats on top of that.
const (
	attempts   = 3
	firstPause = 100 * time.Millisecond
)

// bucket is a bucket of gocloud.
type bucket struct {
	plain  *blob.Bucket
	once   *blob.Bucket                              // its client tries once; it may be plain
	alone  func(ctx context.Context) context.Context // makes plain try once
	tags   tags
	halves bool // its driver stores what it was given before a body failed
}

// tags reads the tags of objects, which differ in type between the drivers. They are the same for reading, listing and
// looking at an object.
type tags struct {
	reader func(*blob.Reader) string
	listed func(*blob.ListObject) string
	looked func(*blob.Attributes) string
}

func (b *bucket) Stat(ctx context.Context, name string) (storage.Info, error) {
	a, err := b.plain.Attributes(ctx, name)
	if err != nil {
		return storage.Info{}, explain(ctx, err)
	}
	return storage.Info{Name: name, Size: a.Size, Modified: a.ModTime, Tag: b.tags.looked(a)}, nil
}

// reader rewords errors in the middle of an object.
type reader struct {
	*blob.Reader
	ctx context.Context // of the request
	tag string
}

func (r reader) Tag() string { return r.tag }

func (r reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = explain(r.ctx, err)
	}
	return n, err
}

func (b *bucket) Read(ctx context.Context, name string, from, length int64) (io.ReadCloser, error) {
	r, err := b.plain.NewRangeReader(ctx, name, from, length, nil)
	if status(err) == behindEnd {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	if err != nil {
		return nil, explain(ctx, err)
	}
	return reader{r, ctx, b.tags.reader(r)}, nil
}

// written is the type of all objects, so that no driver guesses it from the first bytes.
const written = "application/octet-stream"

func (b *bucket) Write(ctx context.Context, name string, body io.ReadSeeker, o storage.WriteOptions) error {
	to := b.plain
	if o.IfNotExist {
		to = b.once
		if b.alone != nil {
			ctx = b.alone(ctx)
		}
	}
	options := &blob.WriterOptions{ContentType: written, IfNotExist: o.IfNotExist}
	var err error
	if b.halves {
		err = uploadWhole(ctx, to, name, body, options)
	} else {
		err = to.Upload(ctx, name, body, options)
	}
	if o.IfNotExist && gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return &storage.Fault{Msg: "it exists already", Kind: fs.ErrExist}
	}
	return explain(ctx, err)
}

// uploadWhole cancels the upload when its body fails: only that keeps gocloud from ending it as if all had come.
func uploadWhole(ctx context.Context, to *blob.Bucket, name string, body io.Reader, o *blob.WriterOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	guarded := &guardedBody{from: body, failed: cancel}
	err := to.Upload(ctx, name, guarded, o)
	if guarded.err != nil {
		return guarded.err
	}
	return err
}

// guardedBody calls failed before anybody learns that the body has failed.
type guardedBody struct {
	from   io.Reader
	failed func()
	err    error
}

func (g *guardedBody) Read(p []byte) (int, error) {
	n, err := g.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		g.err = err
		g.failed()
	}
	return n, err
}

func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		for it := b.plain.List(&blob.ListOptions{Prefix: prefix}); ; {
			o, err := it.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(storage.Info{}, explain(ctx, err))
				return
			}
			if !yield(storage.Info{Name: o.Key, Size: o.Size, Modified: o.ModTime, Tag: b.tags.listed(o)}, nil) {
				return
			}
		}
	}
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	err := b.plain.Delete(ctx, name)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return explain(ctx, err)
}

func (b *bucket) Close() error {
	err := b.plain.Close()
	if b.once != b.plain {
		err = errors.Join(err, b.once.Close())
	}
	return err
}
