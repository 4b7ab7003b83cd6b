package lightgbm

import (
	"errors"
	"fmt"
	"os"

	"github.com/ebitengine/purego"

	"pipe/internal/sharedlib"
)

// Library is the loaded LightGBM. It is safe for concurrent use; calls run one
// after the other on a thread of its own, each with the threads that its
// parameters name. It stays in the process until the end.
type Library struct {
	path   string
	native *native
	worker worker
}

var loaded sharedlib.Once[Library]

// Open finds and loads the library; path is a file, a folder, or empty for a
// search (see Locate). One library serves the whole process: further calls
// share it. Errors are a *MissingLibraryError or a *LoadError, both with a
// Hint; asking for another library than the loaded one is a *LoadError.
func Open(path string) (*Library, error) {
	path, _, err := Locate(path)
	if err != nil {
		return nil, err
	}
	return openIn(&loaded, path)
}

func openIn(o *sharedlib.Once[Library], path string) (*Library, error) {
	l, err := o.Open(path, load)
	if err != nil {
		return nil, &LoadError{path, err}
	}
	return l, nil
}

// load maps the library on the thread that will call it from then on.
func load(path string) (*Library, error) {
	l := &Library{path: path, worker: startWorker()}
	var err error
	l.worker.do(func() { l.native, err = loadNative(path) })
	if err != nil {
		close(l.worker)
		return nil, err
	}
	return l, nil
}

func loadNative(path string) (*native, error) {
	// The loader would end the process over a truncated file.
	if err := sharedlib.CheckImage(path); err != nil {
		return nil, err
	}
	if err := waitAsleep(); err != nil {
		return nil, err
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	n, err := bind(handle)
	if err != nil {
		return nil, errors.Join(err, purego.Dlclose(handle))
	}
	if n.registerLog(n.discard) != 0 {
		return nil, fmt.Errorf("silence its log: %s", n.lastError())
	}
	return n, nil
}

// waitPolicy is read by OpenMP when it is first loaded.
const waitPolicy = "OMP_WAIT_POLICY"

// waitAsleep keeps OpenMP's threads from spinning while they wait for each
// other, unless the user has said how they should wait: where other work holds
// the cores, spinning doubles the time of a training.
func waitAsleep() error {
	if _, set := os.LookupEnv(waitPolicy); set {
		return nil
	}
	return os.Setenv(waitPolicy, "PASSIVE")
}

// Path is where the library was loaded from.
func (l *Library) Path() string { return l.path }

// call runs one C function; what names it in the error.
func (l *Library) call(what string, f func(n *native) int32) error {
	var err error
	l.worker.do(func() {
		if f(l.native) != 0 {
			err = fmt.Errorf("lightgbm: %s: %w", what, errors.New(l.native.lastError()))
		}
	})
	return err
}
