package atomicfile

import (
	"errors"
	"os"
	"sync"
)

// pending are the temporary files and folders of this process. They are recorded so that the process can remove them
// when it must exit while their writers are blocked.
var pending = &registry{paths: map[any]string{}}

type registry struct {
	mu        sync.Mutex
	paths     map[any]string
	abandoned bool
}

var errAbandoned = errors.New("the program is ending")

// make records the path that create makes, under key.
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

// Abandon removes all temporary files and folders of this process and prevents new ones. A process calls it last, when
// it exits without waiting for its work.
func Abandon() {
	pending.mu.Lock()
	defer pending.mu.Unlock()
	pending.abandoned = true
	for _, path := range pending.paths {
		os.RemoveAll(path)
	}
}

// TempFolder creates a temporary folder like os.MkdirTemp. The caller removes it with remove; Abandon removes it too.
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
