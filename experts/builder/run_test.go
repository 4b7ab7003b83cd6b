package builder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/renameio/v2"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/filelock"
	"pipe/internal/storage"
)

// TestBuildWritesWhatTheAnswersSay follows three rows from the files to the tensor.
func TestBuildWritesWhatTheAnswersSay(t *testing.T) {
	w := newWorld(t, 21)
	r, tensor := w.mustRun(t)
	if r.Instances != 21 || r.Train != 16 || r.Val != 5 || r.Shards != 3 || r.Resumed != 0 || r.Dim != 2 {
		t.Errorf("report %+v", r)
	}
	a := tensor.Actions
	if a.Available(3) || !a.Available(0) || !a.Available(1) || !a.Available(2) {
		t.Errorf("available pairs %v, want all but plain/search", a.Mask())
	}
	for _, c := range []struct {
		row    int
		losses [3]float32 // both/none, both/search, plain/none
	}{{0, [3]float32{0, 0, 1}}, {2, [3]float32{1, 0, 1}}, {20, [3]float32{1, 0, 1}}} {
		got := tensor.Losses(c.row)
		if [3]float32(got[:3]) != c.losses || got[3] == got[3] {
			t.Errorf("row %d loses %v, want %v and NaN", c.row, got, c.losses)
		}
	}
	if got := tensor.Row(16); got[0] != 2 || got[1] != 16 {
		t.Errorf("features of row 16 are %v, want y and x", got)
	}
	if got := tensor.Fee[16*4 : 16*4+3]; got[0] != 0 || got[1] != 0.25 || got[2] != 0 {
		t.Errorf("measured fees of row 16 are %v", got)
	}
	if tensor.Labels[5] != "owl" || tensor.Predictions[5*4+1] != "owl" {
		t.Errorf("row 5 is %q, predicted %q", tensor.Labels[5], tensor.Predictions[5*4+1])
	}
	if a.Digests[`table of instances`] == "" || a.Digests[`answers of expert "both"`] == "" {
		t.Errorf("digests %v", a.Digests)
	}
}

// TestShardsAndWorkersDoNotShow varies everything that must not change a cell.
func TestShardsAndWorkersDoNotShow(t *testing.T) {
	w := newWorld(t, 50)
	_, want := w.mustRun(t)
	for _, c := range []struct{ shard, batch, workers int }{{1, 1, 1}, {50, 50, 3}, {7, 64, 2}} {
		v := newWorld(t, 50)
		v.cfg.Shard, v.cfg.Batch, v.cfg.Workers = c.shard, c.batch, c.workers
		_, got := v.mustRun(t)
		got.Actions.Digests = want.Actions.Digests
		if got.Digest() != want.Digest() {
			t.Errorf("shard %d, batch %d, workers %d give another tensor", c.shard, c.batch, c.workers)
		}
	}
}

func TestResumeAfterCancelGivesTheSameBytes(t *testing.T) {
	whole := newWorld(t, 120)
	whole.mustRun(t)
	want := readBytes(t, whole.out())
	w := newWorld(t, 120)
	for stop := 1; ; stop++ {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Run(ctx, w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Progress: &stopAfter{left: 1, stop: cancel}})
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := os.Stat(w.out()); err == nil {
			t.Fatal("a stopped build left an output")
		}
		if stop > 20 {
			t.Fatal("the build does not come to an end")
		}
	}
	if readBytes(t, w.out()) != want {
		t.Error("stopped and resumed build differs from one that ran through")
	}
}

// stopAfter cancels a build after some shards.
type stopAfter struct {
	left int
	stop func()
}

func (s *stopAfter) Start(int64, string) {}
func (s *stopAfter) Done()               {}
func (s *stopAfter) Note(string, ...any) {}
func (s *stopAfter) Add(int64)           { s.stop() }

func TestSecondRunDoesNothing(t *testing.T) {
	w := newWorld(t, 30)
	first, _ := w.mustRun(t)
	before, err := os.Stat(w.out())
	if err != nil {
		t.Fatal(err)
	}
	again, _ := w.mustRun(t)
	after, err := os.Stat(w.out())
	if err != nil {
		t.Fatal(err)
	}
	if again.Resumed != again.Shards || again.Digest != first.Digest || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("second run: %+v, written %v then %v", again, before.ModTime(), after.ModTime())
	}
	left, err := filepath.Glob(w.out() + ".work/*.parquet")
	if err != nil || len(left) > 0 {
		t.Errorf("shards are left: %v, %v", left, err)
	}
}

// TestNewFeesAreWrittenIntoAFinishedTensor also checks that no expert is asked again.
func TestNewFeesAreWrittenIntoAFinishedTensor(t *testing.T) {
	w := newWorld(t, 30)
	w.mustRun(t)
	w.cfg.Experts[1].Fee = 0.75
	w.cfg.Advice[1].Fee = 0.3
	r, tensor := w.mustRun(t)
	if r.Resumed != r.Shards || tensor.Actions.Experts[1].Fee != 0.75 || tensor.Actions.Advice[1].Fee != 0.3 {
		t.Errorf("report %+v, fees %v", r, tensor.Actions.Fees(1))
	}
	fresh := newWorld(t, 30)
	fresh.cfg = w.cfg
	fresh.mustRun(t)
	if readBytes(t, fresh.out()) != readBytes(t, w.out()) {
		t.Error("fees changed afterwards give other bytes than fees known before")
	}
}

func TestChangedInputsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, w *world)
		want   string
	}{
		"table":   {func(t *testing.T, w *world) { w.edit(t, "instances.csv", "r7,dog", "r7,cat") }, "table of instances changed"},
		"answers": {func(t *testing.T, w *world) { w.edit(t, "answers.csv", "r1,both,none,dog", "r1,both,none,cat") }, `answers of expert "both" changed`},
		"setting": {func(_ *testing.T, w *world) { w.cfg.Features[0].Settings["columns"] = []string{"x"} }, "settings of features[0] columns changed"},
		"shard":   {func(_ *testing.T, w *world) { w.cfg.Shard = 9 }, "settings of build changed"},
		"expert":  {func(_ *testing.T, w *world) { w.cfg.Experts = w.cfg.Experts[:1] }, `settings of expert "plain" is gone`},
		"code":    {func(_ *testing.T, w *world) { w.addExpert("precomputed", coded) }, `code of expert "plain" is new`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 40)
			w.mustRun(t)
			before := readBytes(t, w.out())
			c.change(t, w)
			_, err := w.run(context.Background())
			var changed *ChangedError
			if !errors.As(err, &changed) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if readBytes(t, w.out()) != before {
				t.Error("a refused build changed the output")
			}
			r, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true})
			if err != nil || r.Resumed != 0 || readBytes(t, w.out()) == before {
				t.Errorf("restart: %+v, %v", r, err)
			}
		})
	}
}

// coded is a built-in kind of expert that states a version of its code.
func coded(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	s.Input("code", "1")
	return kinds.Builtin().Experts["precomputed"](ctx, s, settings)
}

// TestDamagedLeftovers puts into the work folder what a crash could leave.
func TestDamagedLeftovers(t *testing.T) {
	whole := newWorld(t, 60)
	whole.mustRun(t)
	want := readBytes(t, whole.out())
	w := newWorld(t, 60)
	ctx, cancel := context.WithCancel(context.Background())
	w.cfg.Workers = 1
	if _, err := Run(ctx, w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Progress: &stopAfter{stop: cancel}}); err == nil {
		t.Fatal("the build was not stopped")
	}
	work := w.out() + ".work"
	part := filepath.Join(work, "part-000000.parquet")
	stale := []string{leaveHalf(t, filepath.Join(work, "part-000005.parquet")), leaveHalf(t, filepath.Join(work, manifestName))}
	for name, b := range map[string]string{
		part: readBytes(t, part)[:100],
		filepath.Join(work, "part-000003.parquet"): readBytes(t, part), // another shard's rows
		filepath.Join(work, "final.parquet"):       "half",
	} {
		if err := os.WriteFile(name, []byte(b), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, _ := w.mustRun(t)
	if r.Resumed != 0 || readBytes(t, w.out()) != want {
		t.Errorf("resumed %d shards, bytes equal: %t", r.Resumed, readBytes(t, w.out()) == want)
	}
	for _, name := range stale {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("stale temporary file %s: %v", filepath.Base(name), err)
		}
	}
}

// leaveHalf starts to write path as a run does that is killed then, and returns
// the name of what is left.
func leaveHalf(t *testing.T, path string) string {
	t.Helper()
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("half")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// TestKilledBetweenManifestAndRename leaves the output finished but unnamed.
func TestKilledBetweenManifestAndRename(t *testing.T) {
	w := newWorld(t, 30)
	w.mustRun(t)
	want := readBytes(t, w.out())
	if err := os.Rename(w.out(), filepath.Join(w.out()+".work", finalName)); err != nil {
		t.Fatal(err)
	}
	r, _ := w.mustRun(t)
	if r.Resumed != r.Shards || readBytes(t, w.out()) != want {
		t.Errorf("report %+v", r)
	}
}

func TestForeignOutputIsNotOverwritten(t *testing.T) {
	w := newWorld(t, 30)
	w.write(t, "out.parquet", "somebody else's")
	if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), "was not built here") {
		t.Fatalf("got %v", err)
	}
	if _, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true}); err != nil {
		t.Fatal(err)
	}
	w.write(t, "out.parquet", "edited")
	if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), "not the file that was built here") {
		t.Fatalf("got %v", err)
	}
}

func TestTwoBuildsDoNotShareAFolder(t *testing.T) {
	w := newWorld(t, 30)
	held, err := openWork(w.out())
	if err != nil {
		t.Fatal(err)
	}
	var used *filelock.InUseError
	if _, err := w.run(context.Background()); !errors.As(err, &used) {
		t.Errorf("got %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	w.mustRun(t)
}

func TestFolderOutput(t *testing.T) {
	w := newWorld(t, 10)
	out := filepath.Join(w.dir, "tensor")
	r, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(out), Dir: storage.File(w.dir)})
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil || tensor.Len() != 10 || r.File != filepath.Join(out, "costs.parquet") {
		t.Errorf("%v, report %+v", err, r)
	}
}
