package policies

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"pipe/featurize/pixel"
	"pipe/pipeline/decide"
)

// Settings say which policies are served, and how.
type Settings struct {
	// Paths are policy files, and folders whose files *.onnx are policies.
	Paths []string `yaml:"paths"`
	// Encoders are the encoders of policies that do not contain one, by the name of the policy: the encoder.json of a table,
	// or an encoder of texts or images, as for pipe decide.
	Encoders map[string]string `yaml:"encoders"`
	// Default is the name of the policy for requests that name none. Empty: the only policy, if there is exactly one.
	Default string `yaml:"default"`
	// Prices is a price file, with the prices of tokens and calls for the any-price policies that estimate what calls use. It is
	// read again when it changes. Empty: these policies have the prices of their training.
	Prices string `yaml:"prices"`
	// Decoder of images: standard, libjpeg-turbo or auto. Empty: standard.
	Decoder string `yaml:"decoder"`

	// Workers is the number of concurrent runs of encoders, and also of policies, each on one thread. 0: one per core.
	Workers int `yaml:"workers"`
	// BatchRows is the most rows of a batch.
	BatchRows int `yaml:"batch_rows"`
	// BatchTokens is the most tokens of a batch of an encoder, which has at least one text; an image counts as 64 tokens. On
	// a CPU, larger batches gain nothing and make requests wait for each other.
	BatchTokens int `yaml:"batch_tokens"`
	// BatchDelay is the longest wait for a worker. After it, requests run although all workers are busy, in at most as many
	// additional runs as there are workers. 0: requests wait for a worker without a limit.
	BatchDelay time.Duration `yaml:"batch_delay"`
	// QueueRows is the most rows that wait for a worker. Requests beyond that get an *OverloadError.
	QueueRows int `yaml:"queue_rows"`

	// Settle is how long a watched file must be unchanged before it is read.
	Settle time.Duration `yaml:"settle"`
	// Poll is how often files are checked, for file systems that report no changes. 0: never.
	Poll time.Duration `yaml:"poll"`
	// WarmUp is the longest time for the warm-up of a new policy.
	WarmUp time.Duration `yaml:"warm_up"`
}

// DefaultSettings suit a server with a few policies.
func DefaultSettings() Settings {
	return Settings{
		BatchRows: 64, BatchTokens: 256, BatchDelay: 2 * time.Millisecond, QueueRows: 4096,
		Settle: 300 * time.Millisecond, Poll: 10 * time.Second, WarmUp: time.Minute,
	}
}

// The largest values of settings.
const (
	maxWorkers = 1024
	maxBatch   = 1024
	maxQueue   = 1 << 20
	maxTokens  = 1 << 20
)

// Validate reports every problem at once.
func (s Settings) Validate() error {
	var problems []error
	add := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	add(len(s.Paths) > 0, "paths: no policy file or folder is given")
	add(!slices.Contains(s.Paths, ""), "paths: one of them is empty")
	for name, encoder := range s.Encoders {
		add(name != "" && encoder != "", "encoders: %q: %q: a policy and its encoder need a name", name, encoder)
	}
	add(s.Decoder == "" || slices.Contains(pixel.DecoderNames, s.Decoder), "decoder: %q is unknown; known are %q", s.Decoder, pixel.DecoderNames)
	add(s.Workers >= 0 && s.Workers <= maxWorkers, "workers: %d is not a number from 0 to %d", s.Workers, maxWorkers)
	add(s.BatchRows >= 1 && s.BatchRows <= maxBatch, "batch_rows: %d is not a number from 1 to %d", s.BatchRows, maxBatch)
	add(s.BatchTokens >= 1 && s.BatchTokens <= maxTokens, "batch_tokens: %d is not a number from 1 to %d", s.BatchTokens, maxTokens)
	add(s.QueueRows >= 1 && s.QueueRows <= maxQueue, "queue_rows: %d is not a number from 1 to %d", s.QueueRows, maxQueue)
	add(s.BatchDelay >= 0 && s.BatchDelay <= time.Second, "batch_delay: %v is not from 0 to 1s", s.BatchDelay)
	add(s.Settle >= 0 && s.Settle <= time.Minute, "settle: %v is not from 0 to 1m", s.Settle)
	add(s.Poll >= 0, "poll: %v is negative", s.Poll)
	add(s.WarmUp > 0, "warm_up: %v is not a time", s.WarmUp)
	return errors.Join(problems...)
}

// workers returns the number of workers.
func (s Settings) workers() int {
	if s.Workers > 0 {
		return s.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// options returns the options of the router of a policy.
func (s Settings) options(name string) decide.Options {
	return decide.Options{Encoder: s.Encoders[name], Decoder: s.Decoder, Workers: 1}
}
