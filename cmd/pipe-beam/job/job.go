package job

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pipe/internal/progress"
	"pipe/pipeline/shards"
)

// Job is a stage and where its shards are kept. Workers get it, so paths in it are absolute or URLs.
type Job struct {
	Name    string          `json:"name"`    // unique: where workers leave their problems
	Stage   string          `json:"stage"`   // a name of Stages
	Options json.RawMessage `json:"options"` // of the stage
	Work    string          `json:"work"`
	Lease   time.Duration   `json:"lease"`
	Tries   int             `json:"tries"`
}

// New returns a job with the options of a stage.
func New(stage string, options any, o shards.Options) (*Job, error) {
	b, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	return &Job{Name: name(stage), Stage: stage, Options: b, Work: o.Work, Lease: o.Lease, Tries: o.Tries}, nil
}

// name makes a name for a job.
func name(stage string) string {
	return stage + "-" + time.Now().UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:6])
}

// Opener opens a stage with options of New. A nil stage has no work.
type Opener func(ctx context.Context, options json.RawMessage) (shards.Stage, error)

// open opens the stage of the job and joins its work. The caller closes the stage.
func (j *Job) open(ctx context.Context, stages map[string]Opener, p progress.Progress) (shards.Stage, *shards.Work, error) {
	opener, known := stages[j.Stage]
	if !known {
		return nil, nil, fmt.Errorf("stage %q: known are %s", j.Stage, strings.Join(slices.Sorted(maps.Keys(stages)), ", "))
	}
	s, err := opener(ctx, j.Options)
	if s == nil || err != nil {
		return nil, nil, err
	}
	w, err := shards.Open(ctx, s, j.shards(p))
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, w, nil
}

func (j *Job) shards(p progress.Progress) shards.Options {
	return shards.Options{Work: j.Work, Lease: j.Lease, Tries: j.Tries, Team: j.Name, Progress: p}
}
