// Package storage reads and writes objects that a path or a URL names: local files, and buckets of object stores.
//
// A URL is scheme://bucket/name?parameters, such as s3://data/costs/train.parquet?region=eu-west-1. The name is taken as
// it is written: no character of it is an escape, and it ends at the first question mark. file:///folder/name is the
// local file /folder/name. The parameters are those of the driver of the scheme; no error and no Folder prints them, for
// they may hold secrets.
//
// This package knows local files. Other schemes are registered by whoever links their drivers. Every opened bucket
// repeats what failed for a reason that may pass, within limits.
package storage

import (
	"context"
	"io"
	"iter"
	"time"
)

// MaxClaim is the most bytes of an object that is written IfNotExist. Object stores hold that promise for a single
// request only, so a commit is a small object that is written last and names the large ones.
const MaxClaim = 4 << 20

// Info describes an object.
type Info struct {
	Name     string // relative to the bucket or the folder
	Size     int64  // bytes
	Modified time.Time
	Tag      string // changes with the content; "" in a listing of stores that do not list it
}

// WriteOptions says how an object is written.
type WriteOptions struct {
	// IfNotExist makes it an fs.ErrExist that the name is taken: of many writers of a name, one succeeds. The object may
	// have at most MaxClaim bytes, and must be distinct from those of other writers: after an answer that got lost, a
	// writer knows its own object by its bytes.
	IfNotExist bool
}

// Bucket keeps objects under names, which are paths with slashes, without a slash at their ends. It is safe for
// concurrent use. Errors are *Error. They wrap fs.ErrNotExist where there is no such object or bucket, fs.ErrExist for
// IfNotExist, and fs.ErrPermission where access is denied.
type Bucket interface {
	// Stat describes an object.
	Stat(ctx context.Context, name string) (Info, error)
	// Read returns length bytes of an object from a position on, fewer where it ends, all to its end if length is -1. A
	// position behind the end has no bytes. ctx must live until the reader is closed.
	Read(ctx context.Context, name string, from, length int64) (io.ReadCloser, error)
	// Write makes body, from its beginning, the object of that name. It appears whole or not at all.
	Write(ctx context.Context, name string, body io.ReadSeeker, o WriteOptions) error
	// List yields the objects whose names begin with prefix, sorted by name in bytes. After an error it ends.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Delete removes an object. It is no error if there is none.
	Delete(ctx context.Context, name string) error
	// Close ends the use of the bucket.
	Close() error
}

// Tagged is implemented by readers of Bucket.Read that know the tag of the object that they read.
type Tagged interface{ Tag() string }
