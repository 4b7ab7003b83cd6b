package lightgbm

import (
	"fmt"
	"sync"

	"github.com/ebitengine/purego"

	"pipe/internal/sharedlib"
)

// The oldest library that is accepted, and the one that the project fetches
// and tests with.
const (
	MinVersion    = "4.3"
	PinnedVersion = "4.7.0"
)

// Library is the loaded LightGBM. It is safe for concurrent use; calls run one
// after the other on a thread of its own, each with the threads that its
// parameters name. It stays in the process until the end.
type Library struct {
	path   string
	native *native
	worker worker
}

var loaded struct {
	sync.Mutex
	library *Library
}

// Open finds and loads the library; path is a file, a folder, or empty for a
// search (see Locate). One library serves the whole process: further calls
// share it. Errors are a *MissingLibraryError or a *LoadError, both with a
// Hint; asking for another library than the loaded one is a *LoadError.
func Open(path string) (*Library, error) {
	path, _, err := Locate(path)
	if err != nil {
		return nil, err
	}
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.library; l != nil {
		if l.path != path {
			return nil, &LoadError{path, fmt.Errorf("this process already uses %q", l.path)}
		}
		return l, nil
	}
	l := &Library{path: path, worker: startWorker()}
	l.worker.do(func() { err = l.load() })
	if err != nil {
		close(l.worker)
		return nil, &LoadError{path, err}
	}
	loaded.library = l
	return l, nil
}

// load runs on the worker's thread, which is the one that logs.
func (l *Library) load() error {
	if err := sharedlib.CheckImage(l.path); err != nil {
		return err
	}
	handle, err := purego.Dlopen(l.path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return err
	}
	if l.native, err = bind(handle); err != nil {
		return err
	}
	if l.native.registerLog(l.native.discard) != 0 {
		return fmt.Errorf("silence its log: %s", l.native.lastError())
	}
	return nil
}

// Path is where the library was loaded from.
func (l *Library) Path() string { return l.path }
