package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"net"
	"time"
)

// policy limits how often something is tried again.
type policy struct {
	tries int           // at most
	first time.Duration // about the pause after the first try; each later one is twice as long
	most  time.Duration // of a pause
	long  time.Duration // nothing is tried again after it: a store that does not answer takes its time
}

// patient lasts about 20 seconds: long enough for a store that asks to slow down, short enough to notice an outage.
var patient = policy{tries: 8, first: 100 * time.Millisecond, most: 5 * time.Second, long: 2 * time.Minute}

// passing reports whether the same request may succeed later. ctx is that of the request: a connection that takes too long
// is a context.DeadlineExceeded too.
func passing(ctx context.Context, err error) bool {
	var fault *Fault
	var timeout net.Error
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, context.Canceled):
		return false
	case errors.As(err, &fault):
		return fault.Passing
	case errors.As(err, &timeout) && timeout.Timeout():
		return true
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// do calls try until it succeeds or fails for good. The last error says how often it was tried.
func (p policy) do(ctx context.Context, try func(again bool) error) error {
	pause, start := p.first, time.Now()
	for n := 1; ; n++ {
		err := try(n > 1)
		if !passing(ctx, err) {
			return err
		}
		if n == p.tries || time.Since(start) > p.long {
			if n == 1 {
				return err
			}
			return fmt.Errorf("%w (tried %d times)", err, n)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)): // spread, so that many workers do not come back together
		}
		pause = min(2*pause, p.most)
	}
}

// retrying repeats what may pass. It names the object in errors.
type retrying struct {
	Bucket
	url    string
	policy *policy
}

func (r retrying) wrap(op, name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	url := r.url
	if name != "" {
		url += "/" + name
	}
	return &Error{Op: op, URL: url, Err: err}
}

func (r retrying) Stat(ctx context.Context, name string) (info Info, err error) {
	err = r.policy.do(ctx, func(bool) error {
		info, err = r.Bucket.Stat(ctx, name)
		return err
	})
	return info, r.wrap("look at", name, err)
}

func (r retrying) Delete(ctx context.Context, name string) error {
	return r.wrap("delete", name, r.policy.do(ctx, func(bool) error { return r.Bucket.Delete(ctx, name) }))
}

var errTooLarge = fmt.Errorf("an object that must not exist yet may have at most %d bytes", MaxClaim)

// Write starts at the beginning of body at every try.
func (r retrying) Write(ctx context.Context, name string, body io.ReadSeeker, o WriteOptions) error {
	if size, err := body.Seek(0, io.SeekEnd); err != nil || o.IfNotExist && size > MaxClaim {
		return r.wrap("write", name, errors.Join(err, errTooLarge))
	}
	err := r.policy.do(ctx, func(again bool) error {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return err
		}
		err := r.Bucket.Write(ctx, name, body, o)
		if again && o.IfNotExist && errors.Is(err, fs.ErrExist) && r.holds(ctx, name, body) {
			return nil // the first try was answered by the store, and the answer got lost
		}
		return err
	})
	return r.wrap("write", name, err)
}

// holds reports whether an object has the bytes of body.
func (r retrying) holds(ctx context.Context, name string, body io.ReadSeeker) bool {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return false
	}
	want, err := io.ReadAll(body)
	if err != nil {
		return false
	}
	there, err := r.Read(ctx, name, 0, MaxClaim+1)
	if err != nil {
		return false
	}
	defer there.Close()
	got, err := io.ReadAll(there)
	return err == nil && string(got) == string(want)
}

// List goes on behind the last object that was listed.
func (r retrying) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		last, stopped := "", false
		err := r.policy.do(ctx, func(bool) error {
			for info, err := range r.Bucket.List(ctx, prefix) {
				if err != nil {
					return err
				}
				if last != "" && info.Name <= last {
					continue
				}
				last = info.Name
				if stopped = !yield(info, nil); stopped {
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(Info{}, r.wrap("list", prefix, err))
		}
	}
}
