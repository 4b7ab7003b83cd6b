package storage

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Opener opens the bucket that the host of a URL names. Parameters are in the query of the URL; its path is empty.
type Opener func(ctx context.Context, u *url.URL) (Bucket, error)

var registry = struct {
	sync.Mutex
	openers map[string]Opener
	buckets map[string]*shared // by scheme, host and query
}{openers: map[string]Opener{}, buckets: map[string]*shared{}}

// shared is a bucket that all of a process use.
type shared struct {
	once   sync.Once
	bucket Bucket
	err    error
}

// Register makes URLs of a scheme known. It panics if the scheme is taken.
func Register(scheme string, open Opener) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.openers[scheme]; taken || scheme == fileScheme {
		panic("storage: the scheme " + scheme + " is registered twice")
	}
	registry.openers[scheme] = open
}

// openBucket returns the bucket of a remote place. It stays open for the life of the process, because its connections
// are worth keeping.
func openBucket(ctx context.Context, p place) (Bucket, error) {
	registry.Lock()
	open, known := registry.openers[p.scheme]
	key := p.scheme + "://" + p.host + "?" + p.query
	s := registry.buckets[key]
	if s == nil {
		s = &shared{}
		registry.buckets[key] = s
	}
	registry.Unlock()
	if !known {
		return nil, unknownScheme(p)
	}
	s.once.Do(func() {
		b, err := open(context.WithoutCancel(ctx), &url.URL{Scheme: p.scheme, Host: p.host, RawQuery: p.query})
		if err != nil {
			s.err = &Error{Op: "open", URL: p.scheme + "://" + p.host, Err: err}
			return
		}
		s.bucket = retrying{Bucket: b, url: p.scheme + "://" + p.host, policy: &patient}
	})
	return s.bucket, s.err
}

func unknownScheme(p place) error {
	registry.Lock()
	known := slices.Sorted(maps.Keys(registry.openers))
	registry.Unlock()
	e := &Error{Op: "open", URL: p.String(), Err: fmt.Errorf("URLs that begin with %s:// are not supported", p.scheme)}
	switch {
	case slices.Contains([]string{"s3", "gs", "azblob"}, p.scheme):
		e.Err = fmt.Errorf("this program was built without %s://", p.scheme)
		e.Advice = "use the program pipe, or import pipe/cloud for its drivers"
	case len(known) > 0:
		e.Advice = "use a local path, file:// or " + strings.Join(known, "://, ") + "://"
	default:
		e.Advice = "use a local path"
	}
	return e
}
