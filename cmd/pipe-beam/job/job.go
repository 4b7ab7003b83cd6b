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
	"pipe/internal/storage"
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

// New returns a job with the options of a stage. URLs in them get the parameters of the stores that they are in.
func New(stage string, options any, stores []storage.Location, o shards.Options) (*Job, error) {
	b, err := json.Marshal(options)
	if err == nil {
		b, err = withParameters(b, stores)
	}
	if err != nil {
		return nil, err
	}
	return &Job{Name: name(stage), Stage: stage, Options: b, Work: o.Work.URL(), Lease: o.Lease, Tries: o.Tries}, nil
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

// work is where the shards are kept. New has written it.
func (j *Job) work() storage.Location {
	at, err := storage.Parse(j.Work)
	if err != nil {
		return storage.File(j.Work) // opening it has the error
	}
	return at
}

func (j *Job) shards(p progress.Progress) shards.Options {
	return shards.Options{Work: j.work(), Lease: j.Lease, Tries: j.Tries, Team: j.Name, Progress: p}
}
