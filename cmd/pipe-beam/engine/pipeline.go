package engine

import (
	"context"
	"reflect"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// A Task runs a shard on a worker, and returns what it has counted, by name. The payload is what the submitter gave to Run. An
// error makes the runner try the shard again, by its own rules and perhaps with all others: a Task returns it only where another try on another
// machine may help, and records errors of its input where the submitter finds them.
//
// Tasks run in parallel, and one shard may be run twice.
type Task func(ctx context.Context, payload []byte, shard int) (map[string]int64, error)

// task is the Task of this process. Beam makes objects of shardFn itself, so it cannot be handed to them.
var task Task

// namespace is that of our counters in a runner's metrics.
const namespace = "pipe"

// shardFn runs the shards on a worker.
type shardFn struct {
	Payload []byte
}

// ProcessElement runs one shard.
func (f *shardFn) ProcessElement(ctx context.Context, shard int) error {
	counts, err := task(ctx, f.Payload, shard)
	for name, n := range counts {
		beam.NewCounter(namespace, name).Inc(ctx, n)
	}
	return err
}

func init() {
	register.DoFn2x1[context.Context, int, error](&shardFn{})
	beam.RegisterType(reflect.TypeFor[shardFn]())
}

// newPipeline returns the pipeline. Without the reshuffle, the runner would run all shards where it has made their numbers.
func newPipeline(payload []byte, shards []int) *beam.Pipeline {
	p, root := beam.NewPipelineWithRoot()
	numbers := beam.Reshuffle(root, beam.CreateList(root, shards))
	beam.ParDo0(root.Scope("shards"), &shardFn{Payload: payload}, numbers)
	return p
}

// parallelism is the value of Beam's flag.
func (s Settings) parallelism() string {
	if s.Parallelism == 0 {
		return "-1"
	}
	return strconv.Itoa(s.Parallelism)
}
