package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"pipe/internal/storage"
	"pipe/pipeline/exitcode"
)

// problemsName is the folder of problems in a work folder, with a folder for each job.
const problemsName = "beam/"

// Problem is why a shard failed on a worker: an error that has crossed machines.
type Problem struct {
	Shard   int    `json:"shard"`
	Stops   bool   `json:"stops"` // the other shards would fail too
	Message string `json:"message"`
	Advice  string `json:"hint,omitempty"`
	Code    int    `json:"code"` // exit code of the program that ends with it
	Worker  string `json:"worker"`
}

// Error says which shard failed where.
func (p *Problem) Error() string {
	return fmt.Sprintf("shard %d on worker %s: %s", p.Shard, p.Worker, p.Message)
}

// Hint is that of the error.
func (p *Problem) Hint() string {
	if p.Advice != "" {
		return p.Advice
	}
	return "when the cause is gone, run the same command again: shards that are done are kept"
}

// report leaves a problem where the submitter finds it.
func report(ctx context.Context, j *Job, shard int, err error, stops bool) error {
	host, failed := os.Hostname()
	if failed != nil {
		host = "unknown"
	}
	code, _ := exitcode.Of(err)
	p := Problem{Shard: shard, Stops: stops, Message: err.Error(), Code: code, Worker: fmt.Sprintf("%s-%d", host, os.Getpid())}
	if h := interface{ Hint() string }(nil); errors.As(err, &h) {
		p.Advice = h.Hint()
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	folder, err := j.work().Folder(ctx)
	if err != nil {
		return err
	}
	return folder.WriteFile(ctx, fmt.Sprintf("%s%s/%06d.json", problemsName, j.Name, shard), b, storage.WriteOptions{})
}

// problems reads what the workers of a job have left, in the order of the shards; one that stops the others comes first.
func problems(ctx context.Context, folder *storage.Folder, j *Job) (list []*Problem, err error) {
	const most = 100 // that are read: thousands of shards may have the same problem
	for info, err := range folder.List(ctx, problemsName+j.Name+"/") {
		if err != nil {
			return nil, err
		}
		b, err := folder.ReadFile(ctx, info.Name, storage.MaxClaim)
		if err != nil {
			return nil, err
		}
		p := new(Problem)
		if err := json.Unmarshal(b, p); err != nil {
			return nil, fmt.Errorf("read %s: %w", info.Name, err)
		}
		if p.Stops {
			return append([]*Problem{p}, list...), nil
		}
		if list = append(list, p); len(list) == most {
			break
		}
	}
	return list, nil
}
