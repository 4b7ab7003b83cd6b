package atomicfile

import (
	"errors"
	"os"
	"sync"
)

// pending are the temporary files and folders of this process, so that it can remove them when it must end while their
// makers are stuck.
var pending = &registry{paths: map[any]string{}}

type registry struct {
	mu        sync.Mutex
	paths     map[any]string
	abandoned bool
}

var errAbandoned = errors.New("the program is ending")

// make notes the path that create makes, as key's.
func (r *registry) make(key any, create func() (path string, err error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.abandoned {
		return errAbandoned
	}
	path, err := create()
	if err == nil {
		r.paths[key] = path
	}
	return err
}

func (r *registry) forget(key any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.paths, key)
}

// Abandon removes all temporary files and folders of this process and lets no new ones be made. It is the last thing
// that a process does before it ends without waiting for its work.
func Abandon() {
	pending.mu.Lock()
	defer pending.mu.Unlock()
	pending.abandoned = true
	for _, path := range pending.paths {
		os.RemoveAll(path)
	}
}

// TempFolder makes a temporary folder as os.MkdirTemp does. The caller ends it with remove; Abandon removes it too.
func TempFolder(dir, pattern string) (path string, remove func() error, err error) {
	key := new(byte)
	err = pending.make(key, func() (string, error) {
		path, err = os.MkdirTemp(dir, pattern)
		return path, err
	})
	return path, func() error {
		defer pending.forget(key)
		return os.RemoveAll(path)
	}, err
}
