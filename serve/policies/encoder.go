package policies

import (
	"context"
	"sync"

	"pipe/pipeline/decide"
)

// encoders are the open encoders. Policies with the same encoder share it, for example a policy and its canary, so that it
// is in memory once.
type encoders struct {
	mu   sync.Mutex
	open map[string]*encoder
}

// encoder is an open encoder of texts or images.
type encoder struct {
	*decide.Encoder
	of    *encoders
	key   string
	users int
}

// lease returns the encoder of a policy, and opens it if needed; nil if the policy has none. identity identifies the content
// of the encoder's files.
func (e *encoders) lease(f *decide.PolicyFile, o decide.Options, identity string) (*encoder, error) {
	key, err := f.EncoderKey(context.Background(), o)
	if err != nil || key == "" {
		return nil, err
	}
	key += " " + identity
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := e.open[key]; known != nil {
		known.users++
		return known, nil
	}
	opened, err := f.Encoder(context.Background(), o)
	if err != nil {
		return nil, err
	}
	fresh := &encoder{Encoder: opened, of: e, key: key, users: 1}
	if e.open == nil {
		e.open = map[string]*encoder{}
	}
	e.open[key] = fresh
	return fresh, nil
}

// release closes the encoder when its last policy has released it. It does nothing for nil.
func (e *encoder) release() error {
	if e == nil {
		return nil
	}
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	if e.users--; e.users > 0 {
		return nil
	}
	delete(e.of.open, e.key)
	return e.Close()
}
