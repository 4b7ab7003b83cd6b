package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipe/cmd/pipe-beam/engine"
	"pipe/costs"
	"pipe/internal/progress"
	"pipe/internal/storage"
	"pipe/pipeline/exitcode"
	"pipe/pipeline/shards"
)

// trouble is the stage of the tests: shards that do nothing, but for those that go wrong.
type trouble struct {
	check
	o troubleOptions
}

type troubleOptions struct {
	Check
	Bad    []int // shards of bad data
	Hang   []int // shards that wait until they are cancelled
	Opens  int64 // how often the stage can be opened, 0: always
	Manual bool  // the error of a shard has a hint
}

var opens, hanging atomic.Int64

// hinted is an error with advice.
type hinted struct{ error }

func (hinted) Hint() string    { return "mend the row" }
func (h hinted) Unwrap() error { return h.error }

func openTrouble(_ context.Context, options json.RawMessage) (shards.Stage, error) {
	t := &trouble{}
	if err := read(options, &t.o); err != nil {
		return nil, err
	}
	t.check.o = t.o.Check
	if n := opens.Add(1); t.o.Opens > 0 && n > t.o.Opens {
		return nil, &costs.DataError{File: "model.onnx", Msg: "it is not there"}
	}
	return t, nil
}

func (t *trouble) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	var err error = &costs.DataError{File: "rows.csv", Line: 7, Msg: "it is no number"}
	switch {
	case slices.Contains(t.o.Hang, shard):
		hanging.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	case !slices.Contains(t.o.Bad, shard):
		return t.check.Shard(ctx, shard, folder)
	case t.o.Manual:
		err = hinted{err}
	}
	return nil, err
}

var troubled = map[string]Opener{"trouble": openTrouble}

func TestMain(m *testing.M) {
	w := NewWorker(troubled)
	engine.Worker(w.Task, w.Close)
	os.Exit(m.Run())
}

func newJob(t *testing.T, folder string, o troubleOptions) *Job {
	t.Helper()
	opens.Store(0)
	s := shards.Default(storage.File(folder))
	s.Tries = 2
	j, err := New("trouble", o, nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// A shard of bad data fails alone. The error names shard, worker and row, and has the hint and the exit code that it has without a runner. When the cause
// is gone, the same command makes what is missing and nothing else.
func TestFailedShard(t *testing.T) {
	folder := t.TempDir()
	o := troubleOptions{Check: Check{Shards: 5}, Bad: []int{2, 4}, Manual: true}
	_, err := Run(t.Context(), newJob(t, folder, o), troubled, engine.Default(), progress.Silent{})
	var failed *FailedError
	var problem *Problem
	if !errors.As(err, &failed) || !slices.Equal(failed.Shards, []int{2, 4}) || !errors.As(err, &problem) {
		t.Fatalf("the error is %v", err)
	}
	if problem.Shard != 2 || problem.Code != exitcode.BadData || problem.Stops || failed.Hint() != "mend the row" || !strings.Contains(err.Error(), "line 7") {
		t.Errorf("the problem is %+v: %v", problem, err)
	}
	o.Bad = nil
	r, err := Run(t.Context(), newJob(t, folder, o), troubled, engine.Default(), progress.Silent{})
	if err != nil || r.Counts["shards_made"] != 2 || r.Jobs != 1 || r.Result.(*Checked).Shards != 5 {
		t.Errorf("when the cause is gone: %+v, %v", r, err)
	}
	r, err = Run(t.Context(), newJob(t, folder, o), troubled, engine.Default(), progress.Silent{})
	if err != nil || r.Jobs != 0 {
		t.Errorf("when all is done: %+v, %v", r, err)
	}
}

// Without a hint of its own, a problem has the general one.
func TestGeneralHint(t *testing.T) {
	_, err := Run(t.Context(), newJob(t, t.TempDir(), troubleOptions{Check: Check{Shards: 2}, Bad: []int{0}}), troubled, engine.Default(), progress.Silent{})
	var failed *FailedError
	if !errors.As(err, &failed) || !strings.Contains(failed.Hint(), "run the same command again") {
		t.Errorf("the error is %v", err)
	}
}

// A stage that opens here and not on the workers stops the job: every shard would meet that.
func TestWorkersCannotOpen(t *testing.T) {
	start := time.Now()
	o := troubleOptions{Check: Check{Shards: 50}, Opens: 1}
	_, err := Run(t.Context(), newJob(t, t.TempDir(), o), troubled, engine.Default(), progress.Silent{})
	var problem *Problem
	if !errors.As(err, &problem) || !problem.Stops || problem.Code != exitcode.BadData || !strings.Contains(err.Error(), "model.onnx") {
		t.Errorf("the error is %v", err)
	}
	if opens.Load() != 2 {
		t.Errorf("the stage was opened %d times, once here and once by the worker", opens.Load())
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A runner that cannot be reached is an error before inputs are read, and leaves no trace.
func TestUnreachableRunner(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	folder := t.TempDir()
	s := engine.Settings{Runner: engine.Flink, Endpoint: free.Addr().String()}
	_, err = Run(t.Context(), newJob(t, folder, troubleOptions{Check: Check{Shards: 3}}), troubled, s, progress.Silent{})
	var unreachable *engine.UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Lost {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(folder); len(left) > 0 || err != nil || opens.Load() != 0 {
		t.Errorf("the work folder has %v, %v; the stage was opened %d times", left, err, opens.Load())
	}
}

// A worker that is closed ends its shards, and they are no problem of the job.
func TestCloseEndsShards(t *testing.T) {
	folder := t.TempDir()
	w := NewWorker(troubled)
	hanging.Store(0)
	payload, err := json.Marshal(newJob(t, folder, troubleOptions{Check: Check{Shards: 2}, Hang: []int{1}}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := w.Task(t.Context(), payload, 1)
		ended <- err
	}()
	for deadline := time.Now().Add(30 * time.Second); hanging.Load() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	w.Close()
	select {
	case err = <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the shard goes on")
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if list, err := filepath.Glob(filepath.Join(folder, problemsName, "*", "*")); len(list) > 0 || err != nil {
		t.Errorf("problems were left: %v, %v", list, err)
	}
}

// What is no job, or one of a stage that this worker does not know, is an error or a problem, never a panic.
func TestStrangePayloads(t *testing.T) {
	w := NewWorker(troubled)
	defer w.Close()
	if _, err := w.Task(t.Context(), []byte("{"), 0); err == nil {
		t.Error("half a job is taken")
	}
	payload := fmt.Appendf(nil, `{"name": "n", "stage": "no such stage", "work": %q, "tries": 1}`, t.TempDir())
	counts, err := w.Task(t.Context(), payload, 0)
	if err != nil || counts["shards_failed"] != 1 {
		t.Errorf("an unknown stage: %v, %v", counts, err)
	}
}
