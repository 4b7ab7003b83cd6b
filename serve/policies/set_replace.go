package policies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"pipe/internal/atomicfile"
	"pipe/pipeline/decide"
)

// PreviousEnding is added to the name of a policy's file for the content that it had before [Set.Replace].
const PreviousEnding = ".previous"

// ChangedError means that a file is not the version that was to be replaced, or to replace it.
type ChangedError struct {
	File, Want, Got string // digests
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%q has the version %s, not %s as expected", e.File, e.Got, e.Want)
}

// NotServedError means that the content of a file cannot be served under the name of a policy.
type NotServedError struct {
	Policy, Digest string
	Err            error
}

func (e *NotServedError) Error() string {
	return fmt.Sprintf("the version %s of policy %q is not served: %v", e.Digest, e.Policy, e.Err)
}

// Unwrap returns the reason.
func (e *NotServedError) Unwrap() error { return e.Err }

// Replace gives the file of a policy the content of another policy's file, and serves it. Both versions are named by their
// digests. The content before is kept in the file with [PreviousEnding]. It can be called again after a kill at any moment:
// what was done is not done twice. If the new content cannot be served, the old one is put back, and the error is a
// *[NotServedError]. A file of another version is a *[ChangedError], and nothing is written.
func (s *Set) Replace(ctx context.Context, name, old, with, next string) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	target, err := s.fileOf(name)
	if err != nil {
		return err
	}
	before, is, err := contentOf(target)
	if err != nil {
		return err
	}
	if is != next {
		if is != old {
			return &ChangedError{target, old, is}
		}
		from, err := s.fileOf(with)
		if err != nil {
			return err
		}
		text, is, err := contentOf(from)
		if err != nil {
			return err
		}
		if is != next {
			return &ChangedError{from, next, is}
		}
		if err := atomicfile.WriteFile(target+PreviousEnding, before); err != nil {
			return fmt.Errorf("keep the version before: %w", err)
		}
		if err := atomicfile.WriteFile(target, text); err != nil {
			return fmt.Errorf("replace: %w", err)
		}
	}
	if err := s.serve(ctx, name, target, next); err != nil {
		return errors.Join(err, s.putBack(ctx, name, target, old))
	}
	return nil
}

// Restore undoes [Set.Replace]: the file of a policy gets the content that it had before, and this is served. Like that one, it
// can be called again after a kill. now is the version that is to be replaced, and old the one before it.
func (s *Set) Restore(ctx context.Context, name, now, old string) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	target, err := s.fileOf(name)
	if err != nil {
		return err
	}
	_, is, err := contentOf(target)
	if err != nil {
		return err
	}
	if is != old && is != now {
		return &ChangedError{target, now, is}
	}
	if is != old {
		return s.putBack(ctx, name, target, old)
	}
	if err := s.serve(ctx, name, target, old); err != nil {
		return err
	}
	return removePrevious(target)
}

// putBack gives a file its content before.
func (s *Set) putBack(ctx context.Context, name, target, old string) error {
	text, is, err := contentOf(target + PreviousEnding)
	if err != nil {
		return err
	}
	if is != old {
		return &ChangedError{target + PreviousEnding, old, is}
	}
	if err := atomicfile.WriteFile(target, text); err != nil {
		return fmt.Errorf("put back: %w", err)
	}
	if err := s.serve(ctx, name, target, old); err != nil {
		return err
	}
	return removePrevious(target)
}

func removePrevious(target string) error {
	if err := os.Remove(target + PreviousEnding); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// fileOf is the file of a policy that is served.
func (s *Set) fileOf(name string) (string, error) {
	if s.closed {
		return "", ErrClosed
	}
	p := s.all()[name]
	if p == nil {
		return "", &UnknownError{name, s.Names()}
	}
	return p.File, nil
}

// contentOf reads a policy file.
func contentOf(path string) (text []byte, digest string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", err
	}
	if text, err = readWhole(file{path: path, info: info}); err != nil {
		return nil, "", err
	}
	parsed, err := decide.ParsePolicy(path, text)
	if err != nil {
		return nil, "", err
	}
	digest, err = parsed.Digest()
	return text, digest, err
}

// serve loads the file of a policy as a reload does, and checks that its version is served.
func (s *Set) serve(ctx context.Context, name, target, digest string) error {
	for _, f := range s.list().files {
		if f.path != target {
			continue
		}
		c := s.load(ctx, f)
		s.logChange(ctx, c)
		if c.Err != nil {
			return &NotServedError{name, digest, c.Err}
		}
	}
	if p := s.all()[name]; p == nil || p.Digest != digest {
		return &NotServedError{name, digest, errors.New("another version is")}
	}
	return nil
}

// SameEncoder reports whether two policies have the same encoder in Settings.Encoders, or none there.
func (s *Set) SameEncoder(a, b string) bool { return s.settings.Encoders[a] == s.settings.Encoders[b] }
