package engine

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// The runners.
const (
	Prism    = "prism"
	Flink    = "flink"
	spark    = "spark"
	dataflow = "dataflow"
)

// Runners lists the names of the runners, the default first.
func Runners() []string { return []string{Prism, Flink, spark, dataflow} }

// The environments: where the workers of a runner come from.
const (
	process  = "process"  // the runner starts this program; it lies under the same path on each of its machines
	docker   = "docker"   // the runner starts a container with this program in it
	external = "external" // a pool of workers that runs already
	loopback = "loopback" // this process
)

// workerVariable is set where the environment Process starts this program.
const workerVariable = "PIPE_BEAM_WORKER"

// Settings say where shards run.
type Settings struct {
	Runner      string
	Endpoint    string // host:port of the job server; prism without one runs in this process
	Parallelism int    // shards that run at once, 0: as the runner does by default
	Environment string // Process, Docker or External; "": Process on Flink and Spark, Docker on Dataflow
	Config      string // Process: the path of this program on the workers, Docker: the image, External: host:port
	JobName     string
	Flags       []string // flags of Beam's Go SDK and of the runner, as NAME=VALUE
}

// Default returns the settings of a run in this process.
func Default() Settings { return Settings{Runner: Prism} }

// Validate reports every problem of the settings at once.
func (s Settings) Validate() error {
	var errs []error
	if !slices.Contains(Runners(), s.Runner) {
		errs = append(errs, fmt.Errorf("runner %q: known are %s", s.Runner, strings.Join(Runners(), ", ")))
	}
	if known := []string{"", process, docker, external}; !slices.Contains(known, s.Environment) {
		errs = append(errs, fmt.Errorf("environment %q: known are %s", s.Environment, strings.Join(known[1:], ", ")))
	}
	if s.Endpoint == "" && (s.Runner == Flink || s.Runner == spark) {
		errs = append(errs, fmt.Errorf("runner %s needs the endpoint of its Beam job server, such as localhost:8099", s.Runner))
	}
	if s.Config == "" && s.environment() == docker && s.Runner != dataflow || s.Config == "" && s.Environment == external {
		errs = append(errs, fmt.Errorf("environment %s needs its configuration: the image, or the host:port of the pool", s.Environment))
	}
	if s.Parallelism < 0 {
		errs = append(errs, fmt.Errorf("parallelism %d is negative", s.Parallelism))
	}
	for _, f := range s.Flags {
		if name, _, ok := strings.Cut(f, "="); !ok || name == "" {
			errs = append(errs, fmt.Errorf("flag of Beam %q: write it as NAME=VALUE", f))
		} else if flag.Lookup(name) == nil {
			errs = append(errs, fmt.Errorf("flag %q is none of Beam", name))
		}
	}
	return errors.Join(errs...)
}

// environment is the environment that is meant.
func (s Settings) environment() string {
	switch {
	case s.Environment != "":
		return s.Environment
	case s.Runner == dataflow:
		return docker
	case s.Runner == Prism && s.Endpoint == "":
		return loopback
	}
	return process
}

// processConfig is the configuration of the environment Process: how a runner starts this program as a worker.
func (s Settings) processConfig() (string, error) {
	command := s.Config
	if command == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		command = self
	}
	if s.Runner == Prism && s.Endpoint == "" { // which starts it here, and would wait for it forever
		if _, err := exec.LookPath(command); err != nil {
			return "", fmt.Errorf("the program of workers: %w", err)
		}
	}
	b, err := json.Marshal(map[string]any{"command": command, "env": map[string]string{workerVariable: "1"}})
	return string(b), err
}
