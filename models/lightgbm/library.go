package lightgbm

import (
	"errors"
	"fmt"
	"os"

	"github.com/ebitengine/purego"

	"pipe/internal/sharedlib"
)

// Library is the loaded LightGBM library. It is safe for concurrent use. Calls run one after the other on a dedicated
// thread, each with the number of threads in its parameters. It is never unloaded.
type Library struct {
	path   string
	native *native
	worker worker
}

var loaded sharedlib.Once[Library]

// Open finds and loads the library; path is a file, a folder, or empty for a search (see Locate). One library serves
// the whole process: further calls share it. Errors are a *MissingLibraryError or a *LoadError, both with a Hint. If
// another library is already loaded, the error is a *LoadError.
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

// load loads the library on the thread that will call it from then on.
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
	// A truncated file would make the dynamic loader crash the process.
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

// waitPolicy is the environment variable that OpenMP reads when it is first loaded.
const waitPolicy = "OMP_WAIT_POLICY"

// waitAsleep keeps OpenMP's threads from spinning while they wait for each other, unless the user has set how they
// wait. If other work uses the cores, spinning doubles the time of a training.
func waitAsleep() error {
	if _, set := os.LookupEnv(waitPolicy); set {
		return nil
	}
	return os.Setenv(waitPolicy, "PASSIVE")
}

// Path is the path that the library was loaded from.
func (l *Library) Path() string { return l.path }

// call runs one C function; what is its name in errors.
func (l *Library) call(what string, f func(n *native) int32) error {
	var err error
	l.worker.do(func() {
		if f(l.native) != 0 {
			err = fmt.Errorf("lightgbm: %s: %w", what, errors.New(l.native.lastError()))
		}
	})
	return err
}
