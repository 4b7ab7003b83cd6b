package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"pipe/cmd/pipe-beam/engine"
	"pipe/internal/progress"
	"pipe/pipeline/shards"
)

// Report is the result of a job.
type Report struct {
	Result any // the report of the stage
	Work   string
	Counts map[string]int64 // of the runner's metrics
	Jobs   int              // that the runner was given
}

// look is how often the submitter looks at the work folder.
const look = time.Second

// settle is how long no worker must have been alive before shards that another job may still be at are given out again.
const settle = 15 * time.Second

// Run has the runner do what is not done of a job, and gathers. What is done stays done: after any error, the same job continues.
func Run(ctx context.Context, j *Job, stages map[string]Opener, s engine.Settings, p progress.Progress) (*Report, error) {
	return run(ctx, j, stages, s, p, func(stage shards.Stage) (any, error) {
		p.Start(-1, "gather")
		defer p.Done()
		return shards.Gather(ctx, stage, j.shards(p))
	})
}

// Make is Run for work that comes before other work: nothing is gathered. The report is nil if the stage has no work.
func Make(ctx context.Context, j *Job, stages map[string]Opener, s engine.Settings, p progress.Progress) (*Report, error) {
	return run(ctx, j, stages, s, p, func(shards.Stage) (any, error) { return nil, nil })
}

func run(ctx context.Context, j *Job, stages map[string]Opener, s engine.Settings, p progress.Progress, gather func(shards.Stage) (any, error)) (_ *Report, err error) {
	if err := engine.Reach(ctx, s); err != nil { // before inputs are read, which may take long
		return nil, err
	}
	p.Start(-1, "read inputs")
	stage, work, err := j.open(ctx, stages, p)
	if stage == nil || err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	u := &submitter{job: j, work: work, settings: s, progress: p, counts: map[string]int64{}}
	if err := u.finish(ctx); err != nil {
		return nil, err
	}
	result, err := gather(stage)
	if err != nil {
		return nil, err
	}
	return &Report{Result: result, Work: work.Folder().String(), Counts: u.counts, Jobs: u.jobs}, nil
}

// submitter has shards done.
type submitter struct {
	job      *Job
	work     *shards.Work
	settings engine.Settings
	progress progress.Progress
	counts   map[string]int64
	jobs     int
	shown    int // finished shards that progress shows
}

// finish gives shards to the runner until all are done. It gives up where a job ends well and leaves shards, or where a job server is lost and does not
// come back.
func (u *submitter) finish(ctx context.Context) error {
	u.progress.Start(int64(u.work.Shards()), "shards on "+u.settings.Runner)
	defer u.progress.Done()
	for {
		missing, err := u.missing(ctx)
		if err != nil || len(missing) == 0 {
			return err
		}
		err = u.submit(ctx, missing)
		if lost, ok := errors.AsType[*engine.UnreachableError](err); ok && lost.Lost {
			u.progress.Note("%v; waiting for the workers that go on without it", lost)
			err = u.outlast(ctx)
		} else if err == nil {
			err = u.check(ctx, missing)
		}
		if err != nil {
			return err
		}
	}
}

// missing lists the shards that are not done, and shows progress.
func (u *submitter) missing(ctx context.Context) ([]int, error) {
	missing, err := u.work.Missing(ctx)
	if err != nil {
		return nil, err
	}
	done := u.work.Shards() - len(missing)
	u.progress.Add(int64(done - u.shown))
	u.shown = done
	return missing, nil
}

// submit runs one job of the runner, and watches it.
func (u *submitter) submit(ctx context.Context, missing []int) error {
	payload, err := json.Marshal(u.job)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(watched)
		u.watch(ctx, ended, cancel)
	}()
	u.jobs++
	u.settings.JobName = fmt.Sprintf("%s-%d", u.job.Name, u.jobs)
	counts, err := engine.Run(ctx, u.settings, payload, missing, func(text string) { u.progress.Note("%s: %s", u.settings.Runner, text) })
	close(ended)
	<-watched
	maps.Copy(u.counts, add(u.counts, counts))
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return cause
	}
	return err
}

func add(a, b map[string]int64) map[string]int64 {
	sum := maps.Clone(a)
	for name, n := range b {
		sum[name] += n
	}
	return sum
}

// watch shows progress while a job runs, and ends the job where the shards have a problem that all of them would have.
func (u *submitter) watch(ctx context.Context, ended <-chan struct{}, cancel context.CancelCauseFunc) {
	for tick := time.NewTicker(look); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-ended:
			tick.Stop()
			return
		case <-tick.C:
		}
		if _, err := u.missing(ctx); err != nil {
			continue // the next look may succeed, and so may the job
		}
		list, err := problems(ctx, u.work.Folder(), u.job)
		if err == nil && len(list) > 0 && list[0].Stops {
			cancel(list[0])
		}
	}
}

// check returns why shards of a job that has ended are not done.
func (u *submitter) check(ctx context.Context, before []int) error {
	list, err := problems(ctx, u.work.Folder(), u.job)
	if err != nil {
		return err
	}
	missing, err := u.missing(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	if len(list) > 0 {
		return &FailedError{Shards: missing, First: list[0]}
	}
	if len(missing) == len(before) {
		return fmt.Errorf("the runner says that the job is done, but shards %s are not in the work folder %s", shards.Ranges(missing), u.work.Folder())
	}
	return nil
}

// outlast waits until all shards are done, or no worker has claimed one for some time: a runner may go on without its job server. Then the job
// server must be back.
func (u *submitter) outlast(ctx context.Context) error {
	quiet := time.Now()
	for time.Since(quiet) < settle {
		before := u.shown
		missing, err := u.missing(ctx)
		if err != nil || len(missing) == 0 {
			return err
		}
		alive, err := u.work.Alive(ctx)
		if err != nil {
			return err
		}
		if alive || u.shown > before {
			quiet = time.Now()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look):
		}
	}
	return engine.Await(ctx, u.settings, 2*time.Minute)
}

// FailedError says that shards could not be made.
type FailedError struct {
	Shards []int
	First  *Problem
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%d shards failed (%s), first: %v", len(e.Shards), shards.Ranges(e.Shards), e.First)
}

// Unwrap returns the first problem.
func (e *FailedError) Unwrap() error { return e.First }

// Hint is that of the first problem.
func (e *FailedError) Hint() string { return e.First.Hint() }
