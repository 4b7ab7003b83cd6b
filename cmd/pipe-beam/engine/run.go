package engine

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	// The runner that is used through beam.Run.
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow"
)

// Run has the shards run by the Task of the workers, and returns the sums of what the Tasks counted, by name. A shard that ran twice is
// counted twice, and what a lost worker has counted may be missing: the counts are for people. Worker must have been called.
//
// Cancelling ctx cancels the job. note is given what the runner says, a line at a time, and may be called by any goroutine.
func Run(ctx context.Context, s Settings, payload []byte, shards []int, note func(string)) (map[string]int64, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := setFlags(s); err != nil {
		return nil, err
	}
	initialise()
	log.SetLogger(logger{note})
	p := newPipeline(payload, shards)
	if s.Runner == dataflow {
		result, err := beam.Run(ctx, dataflow, p)
		if err != nil {
			return nil, fmt.Errorf("run on Dataflow: %w", err)
		}
		return counts(result.Metrics()), nil
	}
	return runPortable(ctx, s, p, note)
}

// initialise starts Beam's SDK, which can be done once. Prism writes about each of its steps to the default log.
var initialise = sync.OnceFunc(func() {
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler))
})

// setFlags passes the settings on to the SDK and to runners that it knows, which read them from flags.
func setFlags(s Settings) error {
	flags := append([]string{"parallelism=" + s.parallelism()}, s.Flags...)
	if s.Endpoint != "" {
		flags = append(flags, "endpoint="+s.Endpoint)
	}
	if s.JobName != "" {
		flags = append(flags, "job_name="+s.JobName)
	}
	if s.Runner == dataflow {
		if s.Config != "" {
			flags = append(flags, "sdk_container_image="+s.Config)
		}
		self, err := s.workerBinary()
		if err != nil {
			return err
		}
		flags = append(flags, "worker_binary="+self)
	}
	for _, f := range flags {
		name, value, _ := strings.Cut(f, "=")
		if err := flag.Set(name, value); err != nil {
			return fmt.Errorf("flag of Beam %q: %w", f, err)
		}
	}
	return nil
}

// logger passes on what the SDK says about warnings and errors.
type logger struct{ note func(string) }

// Log implements Beam's log.Logger.
func (l logger) Log(_ context.Context, level log.Severity, _ int, message string) {
	if level >= log.SevWarn {
		l.note(strings.TrimSpace(message))
	}
}
