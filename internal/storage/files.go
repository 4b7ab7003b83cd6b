package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// files is a folder of the local file system as a bucket. An object is a regular file, or a link to one.
type files struct{ root string }

func newFiles(root string) Bucket {
	return retrying{Bucket: files{root}, url: strings.TrimSuffix(root, "/"), policy: &patient}
}

// temporary begins the names of files that have no other name yet. A process that is killed leaves its file behind.
const temporary = ".storage-"

func (f files) path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

// bare drops the path of an error, because the caller names it.
func bare(err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	}
	if errors.Is(err, syscall.ENOTDIR) { // a/b, where a is a file
		return &Fault{Msg: err.Error(), Kind: fs.ErrNotExist}
	}
	return err
}

func describe(name string, info fs.FileInfo) Info {
	return Info{
		Name: name, Size: info.Size(), Modified: info.ModTime(),
		Tag: fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano()),
	}
}

func (f files) Stat(ctx context.Context, name string) (Info, error) {
	info, err := os.Stat(f.path(name))
	switch {
	case err != nil:
		return Info{}, bare(err)
	case !info.Mode().IsRegular():
		return Info{}, &Fault{Msg: "it is not a regular file", Kind: fs.ErrNotExist}
	}
	return describe(name, info), ctx.Err()
}

// section is a part of an open file.
type section struct {
	io.Reader
	*os.File
	tag string
}

func (s section) Read(p []byte) (int, error) { return s.Reader.Read(p) }
func (s section) Tag() string                { return s.tag }

func (f files) Read(ctx context.Context, name string, from, length int64) (io.ReadCloser, error) {
	info, err := f.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, bare(err)
	}
	if length < 0 {
		length = max(0, info.Size-from)
	}
	return section{io.NewSectionReader(file, from, length), file, info.Tag}, nil
}

func (f files) Write(ctx context.Context, name string, body io.ReadSeeker, o WriteOptions) error {
	target := f.path(name)
	folder := filepath.Dir(target)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return bare(err)
	}
	written, err := f.temporary(ctx, folder, body)
	if written != "" {
		defer os.Remove(written) // it has another name by then, or is of no use
	}
	switch {
	case err != nil:
		return bare(err)
	case o.IfNotExist: // unlike a rename, a link never replaces
		err = os.Link(written, target)
	default:
		err = os.Rename(written, target)
	}
	if err != nil {
		return bare(err)
	}
	return bare(syncFolder(folder))
}

// temporary writes a file that is on disk, but has a temporary name.
func (f files) temporary(ctx context.Context, folder string, body io.Reader) (path string, err error) {
	out, err := os.CreateTemp(folder, temporary+"*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, body)
	err = errors.Join(err, out.Chmod(0o644), out.Sync(), out.Close(), ctx.Err())
	return out.Name(), err
}

// syncFolder makes the new name durable. Not every file system can.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// List walks the folders in the order of whole names, in which "a-b" is before "a/b".
func (f files) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		folder, _ := path.Split(prefix)
		err := f.walk(ctx, folder, prefix, func(info Info) bool { return yield(info, nil) })
		if err != nil && !errors.Is(err, fs.SkipAll) && !errors.Is(err, fs.ErrNotExist) {
			yield(Info{}, bare(err))
		}
	}
}

func (f files) walk(ctx context.Context, folder, prefix string, yield func(Info) bool) error {
	entries, err := os.ReadDir(f.path(folder))
	if err != nil {
		return err
	}
	whole := func(e fs.DirEntry) string {
		if e.IsDir() {
			return folder + e.Name() + "/"
		}
		return folder + e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(whole(a), whole(b)) })
	for _, e := range entries {
		name := whole(e)
		if strings.HasPrefix(e.Name(), temporary) || !strings.HasPrefix(name, prefix) && !strings.HasPrefix(prefix, name) {
			continue
		}
		if e.IsDir() {
			if err := f.walk(ctx, name, prefix, yield); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		info, err := f.Stat(ctx, name)
		if errors.Is(err, fs.ErrNotExist) { // gone since, or no regular file
			continue
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, prefix) && !yield(info) {
			return fs.SkipAll
		}
	}
	return nil
}

func (f files) Delete(_ context.Context, name string) error {
	err := bare(os.Remove(f.path(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f files) Close() error { return nil }
