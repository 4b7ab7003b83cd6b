package storage

import (
	"context"
	"net/url"
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

// openBucket returns the bucket of a remote location. It stays open for the life of the process, because its connections
// are worth keeping.
func openBucket(ctx context.Context, l Location) (Bucket, error) {
	open := openerOf(l.scheme)
	if open == nil {
		return nil, unknownScheme(l)
	}
	key := l.scheme + "://" + l.host + "?" + l.query
	opened.Lock()
	s := opened.buckets[key]
	if s == nil {
		s = &shared{}
		opened.buckets[key] = s
	}
	opened.Unlock()
	s.once.Do(func() {
		b, err := open(context.WithoutCancel(ctx), &url.URL{Scheme: l.scheme, Host: l.host, RawQuery: l.query})
		if err != nil {
			s.err = &Error{Op: "open", URL: l.scheme + "://" + l.host, Err: err}
			return
		}
		s.bucket = retrying{Bucket: b, url: l.scheme + "://" + l.host, policy: &patient}
	})
	return s.bucket, s.err
}
