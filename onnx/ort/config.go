package ort

import (
	"errors"
	"fmt"
	"maps"
)

// Names of the devices.
const (
	CPU  = "cpu"
	CUDA = "cuda"
)

// The oldest library with the C interface that we compile against, and the version that the project downloads and tests
// with.
const (
	MinVersion    = "1.24.3"
	PinnedVersion = "1.31.1"
)

// Config says which library to load and which device its sessions use. Records of stages have digests of its JSON form.
type Config struct {
	Library   string            // path of the library or its folder; empty: search for it
	Device    string            // CPU or CUDA
	DeviceID  int               // which GPU
	Threads   int               // threads inside one operator; 0: as many as Go uses
	CUDA      map[string]string // options of the CUDA provider, by its own names; use_tf32 is 0 unless it is set here
	NativeLog bool              // let the library write its own log to stderr
}

// DefaultConfig is the CPU with all cores.
func DefaultConfig() Config { return Config{Device: CPU} }

// Validate reports every problem at once.
func (c Config) Validate() error {
	return errors.Join(checkDevice(c.Device, c.DeviceID), checkThreads(c.Threads))
}

// SessionOptions are the options of one session. Start from Runtime.SessionOptions. A graph is optimised in every way
// that the runtime knows. Idle worker threads sleep: spinning would slow down several sessions in parallel.
type SessionOptions struct {
	Device   string // CPU or CUDA
	DeviceID int    // which GPU
	// Threads inside one operator: 0 is as many as Go uses (GOMAXPROCS, which respects the limits of a container), 1
	// runs everything on the calling thread.
	Threads int
	// DenormalsAsZero flushes denormal floats to zero. They appear as optimiser moments decay, and make arithmetic many
	// times slower.
	DenormalsAsZero bool
	Config          map[string]string // further session settings, by the runtime's own keys
	Outputs         []string          // which outputs to return, in this order; nil: all
}

// DefaultSessionOptions is all CPU cores.
func DefaultSessionOptions() SessionOptions { return SessionOptions{Device: CPU} }

// Validate reports every problem at once.
func (o SessionOptions) Validate() error {
	return errors.Join(checkDevice(o.Device, o.DeviceID), checkThreads(o.Threads))
}

// settings are the session settings under the runtime's own keys; explicit entries of o.Config win.
func (o SessionOptions) settings() map[string]string {
	m := map[string]string{
		"session.intra_op.allow_spinning": "0",
		"session.inter_op.allow_spinning": "0",
		"session.set_denormal_as_zero":    flag(o.DenormalsAsZero),
	}
	maps.Copy(m, o.Config)
	return m
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

func checkDevice(name string, id int) error {
	if name != CPU && name != CUDA {
		return fmt.Errorf("device %q is unknown: use %q or %q", name, CPU, CUDA)
	}
	if id < 0 {
		return fmt.Errorf("device number %d is negative", id)
	}
	return nil
}

func checkThreads(n int) error {
	if n < 0 {
		return fmt.Errorf("threads is %d: must be 0 (as many as Go uses) or more", n)
	}
	return nil
}
