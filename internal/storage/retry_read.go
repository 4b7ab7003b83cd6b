package storage

import (
	"context"
	"errors"
	"io"
)

// errChanged means that an object was replaced while it was read.
var errChanged = &Fault{Msg: "it was replaced while it was read", Advice: "run the command again when nothing writes to it"}

// Read returns a reader that opens the rest of an object again when its connection breaks.
func (r retrying) Read(ctx context.Context, name string, from, length int64) (io.ReadCloser, error) {
	resumed := &resuming{ctx: ctx, from: from, left: length, retrying: r, name: name}
	if err := r.policy.do(ctx, func(bool) error { return resumed.open() }); err != nil {
		return nil, r.wrap("read", name, err)
	}
	return resumed, nil
}

// resuming is the reader of one call of Read, for which it holds the context.
type resuming struct {
	retrying
	ctx  context.Context
	name string
	from int64
	left int64 // bytes; negative: all to the end
	tag  string
	in   io.ReadCloser
}

// Tag returns the tag of the object, "" if the bucket gives none.
func (s *resuming) Tag() string { return s.tag }

func (s *resuming) open() error {
	in, err := s.Bucket.Read(s.ctx, s.name, s.from, s.left)
	if err != nil {
		return err
	}
	if tagged, ok := in.(Tagged); ok {
		if s.tag != "" && tagged.Tag() != s.tag {
			return errors.Join(errChanged, in.Close())
		}
		s.tag = tagged.Tag()
	}
	s.in = in
	return nil
}

func (s *resuming) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := 0
	err := s.policy.do(s.ctx, func(again bool) (err error) {
		if again {
			_ = s.in.Close() // it is broken
			if err := s.open(); err != nil {
				return err
			}
		}
		n, err = s.in.Read(p)
		if n > 0 {
			return nil // an error comes back with the next call
		}
		return err
	})
	s.from += int64(n)
	if s.left > 0 {
		s.left -= int64(n)
	}
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, s.wrap("read", s.name, err)
}

func (s *resuming) Close() error { return s.in.Close() }
