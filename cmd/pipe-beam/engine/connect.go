package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// reach is how long a job server may take to answer at all.
const reach = 10 * time.Second

// UnreachableError says that there is no job server where the settings say, or no longer.
type UnreachableError struct {
	Runner, Endpoint string
	Lost             bool // it had answered before
	Err              error
}

func (e *UnreachableError) Error() string {
	if e.Lost {
		return fmt.Sprintf("runner %s at %s: lost the connection to the job server: %v", e.Runner, e.Endpoint, e.Err)
	}
	return fmt.Sprintf("runner %s at %s: no Beam job server answers: %v", e.Runner, e.Endpoint, e.Err)
}

// Hint says what to do.
func (e *UnreachableError) Hint() string {
	return "start the job server, or name its host:port with --endpoint; then run the same command again: shards that are done are kept"
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// JobError says that a runner has given up a job.
type JobError struct{ Reason string }

func (e *JobError) Error() string { return "the runner has given up the job: " + e.Reason }

// Hint says what to do.
func (e *JobError) Hint() string {
	return "the logs of the runner's workers say more; then run the same command again: shards that are done are kept"
}

// connect returns a client of the job server.
func connect(ctx context.Context, s Settings) (jobpb.JobServiceClient, func(), error) {
	if s.Runner == Prism && s.Endpoint == "" {
		client, err := prism.CreateJobServer(ctx, prism.Options{})
		return client, func() {}, err
	}
	conn, err := grpc.NewClient(s.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, &UnreachableError{Runner: s.Runner, Endpoint: s.Endpoint, Err: err}
	}
	client := jobpb.NewJobServiceClient(conn)
	// Job servers differ in what they implement; that the method is not there is an answer too.
	asking, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	_, err = client.DescribePipelineOptions(asking, &jobpb.DescribePipelineOptionsRequest{}, grpc.WaitForReady(false))
	switch code := status.Code(err); {
	case ctx.Err() != nil:
		err = ctx.Err()
	case code == codes.OK || code == codes.Unimplemented || code == codes.Internal || code == codes.Unknown:
		return client, func() { conn.Close() }, nil
	default:
		err = &UnreachableError{Runner: s.Runner, Endpoint: s.Endpoint, Err: errors.New(status.Convert(err).Message())}
	}
	conn.Close()
	return nil, nil, err
}

// connectionError is the error of a call to a job server that has answered before.
func connectionError(s Settings, err error) error {
	if code := status.Code(err); code == codes.Unavailable || code == codes.DeadlineExceeded {
		return &UnreachableError{Runner: s.Runner, Endpoint: s.Endpoint, Lost: true, Err: errors.New(status.Convert(err).Message())}
	}
	return fmt.Errorf("runner %s: %w", s.Runner, err)
}

// workerBinary is the program that Dataflow puts on its workers.
func (s Settings) workerBinary() (string, error) { return os.Executable() }

// Reach returns an error if the job server does not answer. Dataflow, and prism in this process, need none.
func Reach(ctx context.Context, s Settings) error {
	if s.Endpoint == "" {
		return nil
	}
	_, closing, err := connect(ctx, s)
	if err == nil {
		closing()
	}
	return err
}

// Await waits until the job server answers, for at most a duration. The error is the last one.
func Await(ctx context.Context, s Settings, most time.Duration) error {
	for deadline := time.Now().Add(most); ; {
		err := Reach(ctx, s)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
