package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/metricsx"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
)

// runPortable runs the pipeline through a Beam job server, or prism in this process. The SDK's own way waits two minutes for a job server that
// is not there, cannot cancel a job, and hides how a job has ended.
func runPortable(ctx context.Context, s Settings, p *beam.Pipeline, note func(string)) (map[string]int64, error) {
	client, closing, err := connect(ctx, s)
	if err != nil {
		return nil, err
	}
	defer closing()
	model, stop, err := translate(ctx, s, p)
	if err != nil {
		return nil, fmt.Errorf("make a job for the runner: %w", err)
	}
	defer stop()
	id, err := submit(ctx, s, client, model)
	if err != nil {
		return nil, err
	}
	// A user who ends the program wants no more money to be spent, so the job ends too.
	cancel := context.AfterFunc(ctx, func() {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		_, _ = client.Cancel(ctx, &jobpb.CancelJobRequest{JobId: id}) // the job may have ended
	})
	err = await(ctx, s, client, id, note)
	if !cancel() {
		<-time.After(time.Second)
	}
	if err != nil {
		return nil, err
	}
	r, err := client.GetJobMetrics(ctx, &jobpb.GetJobMetricsRequest{JobId: id})
	if err != nil {
		return nil, connectionError(s, err)
	}
	return counts(*metricsx.FromMonitoringInfos(model, r.GetMetrics().GetAttempted(), r.GetMetrics().GetCommitted())), nil
}

// translate returns the pipeline as job servers take it. The caller calls stop when the job has ended.
func translate(ctx context.Context, s Settings, p *beam.Pipeline) (model *pipepb.Pipeline, stop func(), err error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, nil, err
	}
	stop = func() {}
	urn, config := graphx.URNEnvProcess, s.Config
	switch s.environment() {
	case process:
		config, err = s.processConfig()
	case docker:
		urn = graphx.URNEnvDocker
	case external:
		urn = graphx.URNEnvExternal
	case loopback:
		pool, failed := extworker.StartLoopback(ctx, 0)
		if failed != nil {
			return nil, nil, failed
		}
		urn, config = graphx.URNEnvExternal, pool.EnvironmentConfig(ctx)
		stop = func() { _ = pool.Stop(context.WithoutCancel(ctx)) }
	}
	if err != nil {
		return nil, nil, err
	}
	environment, err := graphx.CreateEnvironment(ctx, urn, func(context.Context) string { return config })
	if err == nil {
		model, err = graphx.Marshal(edges, &graphx.Options{Environment: environment, PipelineResourceHints: jobopts.GetPipelineResourceHints()})
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return model, stop, nil
}

// submit gives the job to the job server and returns its number.
func submit(ctx context.Context, s Settings, client jobpb.JobServiceClient, model *pipepb.Pipeline) (string, error) {
	// A job must bring an artifact, and Beam would send this whole program, which lies on the workers already.
	if err := runnerlib.UpdateGoEnvironmentWorker(os.DevNull, model); err != nil {
		return "", err
	}
	o := &runnerlib.JobOptions{Name: jobopts.GetJobName(), Experiments: jobopts.GetExperiments(), Parallelism: *jobopts.Parallelism, Loopback: s.environment() == loopback}
	preparation, staging, token, err := runnerlib.Prepare(ctx, client, model, o)
	if err != nil {
		return "", connectionError(s, err)
	}
	if token, err = runnerlib.Stage(ctx, preparation, staging, os.DevNull, token); err != nil {
		return "", connectionError(s, err)
	}
	id, err := runnerlib.Submit(ctx, client, preparation, token)
	if err != nil {
		return "", connectionError(s, err)
	}
	return id, nil
}

// await waits for the end of a job.
func await(ctx context.Context, s Settings, client jobpb.JobServiceClient, id string, note func(string)) error {
	stream, err := client.GetMessageStream(ctx, &jobpb.JobMessagesRequest{JobId: id})
	if err != nil {
		return connectionError(s, err)
	}
	failed, reason := false, ""
	for {
		message, err := stream.Recv()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == io.EOF || failed && reason != "":
			return jobError(failed, reason)
		case err != nil:
			return connectionError(s, err)
		}
		if text := message.GetMessageResponse(); text.GetImportance() >= jobpb.JobMessage_JOB_MESSAGE_WARNING {
			note(text.GetMessageText())
			if text.GetImportance() >= jobpb.JobMessage_JOB_MESSAGE_ERROR {
				reason = text.GetMessageText()
			}
		}
		switch state := message.GetStateResponse().GetState(); state {
		case jobpb.JobState_DONE:
			return nil
		case jobpb.JobState_CANCELLED:
			return errors.New("the job was cancelled on the runner")
		case jobpb.JobState_FAILED:
			failed = true
		}
	}
}

func jobError(failed bool, reason string) error {
	if !failed {
		return nil
	}
	return &JobError{reason}
}

// counts are our counters in the metrics of a job.
func counts(m metrics.Results) map[string]int64 {
	out := map[string]int64{}
	for _, c := range m.AllMetrics().Counters() {
		if c.Key.Namespace == namespace {
			out[c.Key.Name] += c.Result()
		}
	}
	return out
}
