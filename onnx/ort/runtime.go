package ort

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strconv"
	"sync"

	yort "github.com/yalue/onnxruntime_go"
)

// Runtime is the loaded library, with the device and threads that its sessions use. It is safe for concurrent use.
type Runtime struct {
	cfg     Config
	path    string
	version string

	mu       sync.Mutex
	closed   bool
	sessions map[io.Closer]struct{}
}

// Open finds and loads the library and checks that the device is available. One library serves the whole process:
// further calls share it, and another path is a *LoadError. Other errors: *MissingLibraryError, *VersionError,
// *DeviceError; each has a Hint.
func Open(cfg Config) (*Runtime, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("open runtime: %w", err)
	}
	path, _, err := locate(cfg.Library, cfg.Device)
	if err != nil {
		return nil, err
	}
	if cfg.Device == CUDA {
		preloadCUDA(path)
	}
	version, err := load(path, cfg.NativeLog)
	if err != nil {
		return nil, err
	}
	r := &Runtime{cfg: cfg, path: path, version: version, sessions: map[io.Closer]struct{}{}}
	if err := r.checkDevice(cfg.Device); err != nil {
		return nil, err
	}
	return r, nil
}

// Close closes every open session and waits for running calls. The library stays loaded. Close is idempotent.
func (r *Runtime) Close() error {
	r.mu.Lock()
	r.closed = true
	open := r.sessions
	r.sessions = map[io.Closer]struct{}{}
	r.mu.Unlock()
	var errs []error
	for s := range open {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Version is the library's version, such as "1.31.1".
func (r *Runtime) Version() string { return r.version }

// Library is the path of the loaded library.
func (r *Runtime) Library() string { return r.path }

// Device is the device that sessions use by default.
func (r *Runtime) Device() string { return r.cfg.Device }

// Providers lists the devices that this library and machine support.
func (r *Runtime) Providers() []string {
	if r.checkDevice(CUDA) == nil {
		return []string{CPU, CUDA}
	}
	return []string{CPU}
}

// SessionOptions are the default options with this runtime's device and threads.
func (r *Runtime) SessionOptions() SessionOptions {
	o := DefaultSessionOptions()
	o.Device, o.DeviceID, o.Threads = r.cfg.Device, r.cfg.DeviceID, r.cfg.Threads
	return o
}

// checkDevice asks the library for the device without creating a session.
func (r *Runtime) checkDevice(device string) error {
	o := r.SessionOptions()
	o.Device = device
	n, err := r.nativeOptions(o)
	if err != nil {
		return err
	}
	return n.Destroy()
}

// nativeOptions translates o; the caller destroys the result.
func (r *Runtime) nativeOptions(o SessionOptions) (*yort.SessionOptions, error) {
	n, err := yort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	if err := r.fill(n, o); err != nil {
		return nil, errors.Join(err, n.Destroy())
	}
	return n, nil
}

func (r *Runtime) fill(n *yort.SessionOptions, o SessionOptions) error {
	threads := o.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	logLevel := yort.LoggingLevel(yort.LoggingLevelFatal)
	if r.cfg.NativeLog {
		logLevel = yort.LoggingLevelWarning
	}
	err := errors.Join(
		n.SetGraphOptimizationLevel(yort.GraphOptimizationLevelEnableAll),
		n.SetExecutionMode(yort.ExecutionModeSequential),
		n.SetIntraOpNumThreads(threads),
		n.SetInterOpNumThreads(1),
		n.SetCpuMemArena(true),
		n.SetLogSeverityLevel(logLevel),
	)
	for key, value := range o.settings() {
		if e := n.AddSessionConfigEntry(key, value); e != nil {
			err = errors.Join(err, fmt.Errorf("session setting %q: %w", key, e))
		}
	}
	if err == nil && o.Device == CUDA {
		err = r.appendCUDA(n, o)
	}
	return err
}

func (r *Runtime) appendCUDA(n *yort.SessionOptions, o SessionOptions) error {
	// The provider's default multiplies with ten bits of mantissa (TF32). float32 must mean what it does on the CPU.
	settings := map[string]string{"device_id": strconv.Itoa(o.DeviceID), "use_tf32": "0"}
	maps.Copy(settings, r.cfg.CUDA)
	cuda, err := yort.NewCUDAProviderOptions()
	if err != nil {
		return &DeviceError{CUDA, r.path, native(err)}
	}
	defer cuda.Destroy()
	if err := cuda.Update(settings); err != nil {
		return &DeviceError{CUDA, r.path, native(err)}
	}
	if err := n.AppendExecutionProviderCUDA(cuda); err != nil {
		return &DeviceError{CUDA, r.path, native(err)}
	}
	return nil
}

// adopt makes Close close s too, unless the runtime has been closed in the meantime.
func (r *Runtime) adopt(s io.Closer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	r.sessions[s] = struct{}{}
	return nil
}

func (r *Runtime) forget(s io.Closer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, s)
}
