package builder

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/expert"
	"pipe/experts/kinds"
	"pipe/internal/storage"
	"pipe/onnx/ort"
)

// child is what a test asks of its own binary, run as another process.
type child struct {
	Config part.Config
	Out    string
	Dir    string
	Delay  time.Duration // per batch, so that small worlds live long enough to be killed
	Skip   bool          // leave bad images out
	Words  bool          // texts are encoded by their words

	Experts string // "": beside the output
}

const childVariable = "PIPE_BUILD_CHILD"

// TestMain turns the binary into a build when a test asks for it.
func TestMain(m *testing.M) {
	file := os.Getenv(childVariable)
	if file == "" {
		os.Exit(m.Run())
	}
	if err := runChild(file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runChild(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var c child
	if err := json.Unmarshal(b, &c); err != nil {
		return err
	}
	o := Options{
		Out: storage.File(c.Out), Dir: storage.File(c.Dir), Experts: storage.File(c.Experts).String(), SkipBad: c.Skip,
		Runtime:     func() (*ort.Runtime, error) { return ort.Open(ort.DefaultConfig()) },
		Kinds:       kinds.Builtin().With(&part.Kinds{Experts: map[string]part.NewExpert{"precomputed": c.slowAnswers}}),
		checkpoints: -1, // as many moments to be killed at as there are
	}
	if c.Words {
		o.OpenText = func(*ort.Runtime, string) (part.TextEncoder, error) { return &parttest.Words{Delay: c.Delay}, nil }
	}
	_, err = Run(context.Background(), c.Config, o)
	return err
}

func (c *child) slowAnswers(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	e, err := expert.Kinds()["precomputed"](ctx, s, settings)
	return slow{e, c.Delay}, err
}

// slow is an expert that takes its time.
type slow struct {
	part.Expert
	delay time.Duration
}

func (e slow) Predict(ctx context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	time.Sleep(e.delay)
	return e.Expert.Predict(ctx, batch, shown)
}

func (e slow) Takes(advice string) bool { return e.Expert.(part.Selective).Takes(advice) }
func (e slow) Metered() bool            { return e.Expert.(part.Metered).Metered() }
func (e slow) Observes() []string       { return e.Expert.(part.Observable).Observes() }

func (c *child) start(t *testing.T) *exec.Cmd {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "child.json")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// killRepeatedly checks that builds killed at random moments and then repeated
// leave the bytes of one that ran through. A build that ends before its kill is
// compared, and the next one starts from nothing. The short form kills a few
// times only.
func killRepeatedly(t *testing.T, c child, kills int) {
	t.Helper()
	if testing.Short() {
		kills = 1
	}
	c.Out = filepath.Join(t.TempDir(), "whole.parquet")
	begin := time.Now()
	if err := c.start(t).Wait(); err != nil {
		t.Fatal(err)
	}
	whole, want, experts := time.Since(begin), readBytes(t, c.Out), trainedFiles(t, c.Out)
	r := rand.New(rand.NewPCG(1, 2))
	c.Out = filepath.Join(t.TempDir(), "killed.parquet")
	killed, finished := 0, 0
	for killed < kills || finished == 0 {
		cmd := c.start(t)
		if killed < kills {
			time.AfterFunc(time.Duration(r.Int64N(int64(whole))), func() { cmd.Process.Kill() })
		}
		err := cmd.Wait()
		if err != nil && cmd.ProcessState.Exited() {
			t.Fatalf("after %d kills: %v", killed, err)
		}
		if err != nil {
			killed++
			if got, err := os.ReadFile(c.Out); err == nil && string(got) != want {
				t.Fatal("a kill left an output that is not the whole one")
			}
			continue
		}
		if finished++; readBytes(t, c.Out) != want {
			t.Fatalf("after %d kills: the bytes differ", killed)
		}
		if !maps.Equal(trainedFiles(t, c.Out), experts) {
			t.Fatalf("after %d kills: the trained experts differ", killed)
		}
		if _, err := os.Stat(filepath.Join(c.Out+".work", trainingName)); err == nil {
			t.Fatalf("after %d kills: half-trained experts are left", killed)
		}
		c.Out = filepath.Join(t.TempDir(), "killed.parquet")
	}
	t.Logf("%d kills, %d builds finished, %.2f s undisturbed, %.1f s in all", killed, finished, whole.Seconds(), time.Since(begin).Seconds())
}

// trainedFiles returns the content of the folder of experts beside an output,
// by name.
func trainedFiles(t *testing.T, out string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(out), "experts", "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(filepath.Dir(out), "experts", ".*"))
	if err != nil {
		t.Fatal(err)
	}
	content := make(map[string]string)
	for _, f := range append(files, hidden...) {
		content[filepath.Base(f)] = readBytes(t, f)
	}
	return content
}

func TestKilledBuildsResumeToTheSameBytes(t *testing.T) {
	w := newWorld(t, 160)
	killRepeatedly(t, child{Config: w.cfg, Dir: w.dir, Delay: 5 * time.Millisecond}, 20)
}

// TestKilledTrainingResumesToTheSameBytes kills builds that spend most of their
// time on experts that have to learn.
func TestKilledTrainingResumesToTheSameBytes(t *testing.T) {
	w := newTabularWorld(t, 1200).withAllExperts()
	openRuntime(t)
	w.cfg.Experts[0].Settings["epochs"], w.cfg.Experts[1].Settings["epochs"] = 80, 80
	killRepeatedly(t, child{Config: w.cfg, Dir: w.dir}, 20)
}

// TestKilledEmbeddingResumesToTheSameBytes kills builds that embed texts, and
// learn from them.
func TestKilledEmbeddingResumesToTheSameBytes(t *testing.T) {
	openRuntime(t)
	w := newTextWorld(t, 400).withEmbedding(t, 1200)
	w.cfg.Experts[0].Settings["epochs"] = 60
	killRepeatedly(t, child{Config: w.cfg, Dir: w.dir, Delay: 20 * time.Millisecond, Words: true}, 20)
}

// TestKilledImageBuildsResumeToTheSameBytes kills builds that spend about half of
// their time on checking images, with and without bad ones that are left out.
func TestKilledImageBuildsResumeToTheSameBytes(t *testing.T) {
	for _, skip := range []bool{false, true} {
		if testing.Short() && !skip {
			continue // the other one does the same and more
		}
		t.Run(fmt.Sprintf("skip=%v", skip), func(t *testing.T) {
			w := newPictures(t, 700, 64)
			if skip {
				w.spoil(t)
			}
			w.cfg.Shard, w.cfg.Batch = 64, 32
			killRepeatedly(t, child{Config: w.cfg, Dir: w.dir, Delay: 10 * time.Millisecond, Skip: skip}, 10)
		})
	}
}
