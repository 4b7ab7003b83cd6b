package storage

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// shared is a bucket that all of a process use.
type shared struct {
	once   sync.Once
	bucket Bucket
	err    error
}

var opened = struct {
	sync.Mutex
	buckets map[string]*shared // by scheme, host and query
}{buckets: map[string]*shared{}}

// openBucket returns the bucket of a remote place. It stays open for the life of the process, because its connections
// are worth keeping.
func openBucket(ctx context.Context, p place) (Bucket, error) {
	open := openerOf(p.scheme)
	if open == nil {
		return nil, unknownScheme(p)
	}
	key := p.scheme + "://" + p.host + "?" + p.query
	opened.Lock()
	s := opened.buckets[key]
	if s == nil {
		s = &shared{}
		opened.buckets[key] = s
	}
	opened.Unlock()
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
	known := schemes()
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
