package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
)

// Folder is a bucket below a prefix: what the location of a folder names. Names are relative to it; its methods and
// errors are those of Bucket.
type Folder struct {
	bucket Bucket
	prefix string // "" or with a slash at its end
	at     Location
}

// Folder opens the folder of a location. It need not exist: an object makes its folders.
func (l Location) Folder(ctx context.Context) (*Folder, error) {
	if !l.IsRemote() {
		return &Folder{bucket: newFiles(l.name), at: l}, nil
	}
	b, err := openBucket(ctx, l)
	if err != nil {
		return nil, err
	}
	f := &Folder{bucket: b, at: l}
	if l.name != "" {
		f.prefix = l.name + "/"
	}
	return f, nil
}

// openParent opens the folder of an object and returns the object's name in it.
func (l Location) openParent(ctx context.Context) (f *Folder, name string, err error) {
	if l.IsRemote() && l.name == "" {
		return nil, "", refused(l.String(), "the URL names a bucket, but no object in it", "write "+l.scheme+"://BUCKET/NAME")
	}
	f, err = l.Dir().Folder(ctx)
	return f, l.Base(), err
}

// String returns the path or URL, without parameters.
func (f *Folder) String() string { return f.at.String() }

// Location returns where names in the folder are.
func (f *Folder) Location(names ...string) Location { return f.at.Join(names...) }

// Sub returns the folder of a name in this one.
func (f *Folder) Sub(name string) *Folder {
	return &Folder{bucket: f.bucket, prefix: f.prefix + strings.Trim(name, "/") + "/", at: f.at.Join(name)}
}

// Stat describes an object.
func (f *Folder) Stat(ctx context.Context, name string) (Info, error) {
	info, err := f.bucket.Stat(ctx, f.prefix+name)
	info.Name = name
	return info, err
}

// Read returns length bytes of an object from a position on, or all to its end if length is -1.
func (f *Folder) Read(ctx context.Context, name string, from, length int64) (io.ReadCloser, error) {
	return f.bucket.Read(ctx, f.prefix+name, from, length)
}

// Write makes body the object of that name.
func (f *Folder) Write(ctx context.Context, name string, body io.ReadSeeker, o WriteOptions) error {
	return f.bucket.Write(ctx, f.prefix+name, body, o)
}

// List yields the objects whose names begin with prefix, sorted.
func (f *Folder) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for info, err := range f.bucket.List(ctx, f.prefix+prefix) {
			info.Name = strings.TrimPrefix(info.Name, f.prefix)
			if !yield(info, err) {
				return
			}
		}
	}
}

// Delete removes an object; it is no error if there is none.
func (f *Folder) Delete(ctx context.Context, name string) error {
	return f.bucket.Delete(ctx, f.prefix+name)
}

// ErrLarge is the kind of error about an object that has more bytes than the reader takes.
var ErrLarge = errors.New("the object is too large")

// ReadFile returns a whole object of at most limit bytes; a larger one is ErrLarge.
func (f *Folder) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, err := f.Read(ctx, name, 0, limit+1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &Error{Op: "read", URL: f.at.Join(name).String(), Err: &Fault{Msg: fmt.Sprintf("it has more than %d bytes, the most that are read", limit), Kind: ErrLarge}}
	}
	return data, nil
}

// WriteFile makes data the object of that name.
func (f *Folder) WriteFile(ctx context.Context, name string, data []byte, o WriteOptions) error {
	return f.Write(ctx, name, bytes.NewReader(data), o)
}

// Upload makes a local file the object of that name.
func (f *Folder) Upload(ctx context.Context, name, file string) error {
	body, err := os.Open(file)
	if err != nil {
		return err
	}
	defer body.Close()
	return f.Write(ctx, name, body, WriteOptions{})
}

// Download makes a local file of an object. The caller gives a path in a temporary folder: a file that could not be
// finished stays.
func (f *Folder) Download(ctx context.Context, name, file string) error {
	r, err := f.Read(ctx, name, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}
