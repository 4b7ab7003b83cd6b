package learn

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/learn/learntest"
)

// TestKilledRun is the process that TestKilled kills: it ends itself by SIGKILL at a step.
func TestKilledRun(t *testing.T) {
	folder, step, ok := strings.Cut(os.Getenv("PIPE_LEARN_KILL"), " ")
	if !ok {
		t.Skip("it is a part of TestKilled")
	}
	w := world{&learntest.World{Dir: folder, N: 1500}}
	o := w.options()
	o.Promote = PromoteFile
	o.at = func(at string) {
		if at == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Minute)
		}
	}
	_, err := Run(t.Context(), o, nil)
	t.Fatalf("it ended without the step %q: %v", step, err)
}

// A run that is killed at any step leaves whole files, and the next run comes to the same end.
func TestKilled(t *testing.T) {
	orttest.Open(t, 0)
	at := filepath.Join(t.TempDir(), "world") // a policy states the path of the deployed one
	begin := func() world {
		t.Helper()
		w := newWorld(t, 8)
		w.serve(t, 1500)
		if err := errors.Join(os.RemoveAll(at), os.Rename(w.Dir, at)); err != nil {
			t.Fatal(err)
		}
		w.Dir = at
		return w
	}
	whole := begin()
	o := whole.options()
	o.Promote = PromoteFile
	want := does(t, o, Promoted).Candidate.Digest
	for _, step := range []string{"train", "judge", "place", "promote", "state"} {
		t.Run(step, func(t *testing.T) {
			w := begin()
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledRun$")
			c.Env = append(os.Environ(), "PIPE_LEARN_KILL="+w.Dir+" "+step)
			if out, err := c.CombinedOutput(); err == nil || c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("%v: %s", err, out)
			}
			live := w.info(t, "live.onnx").Digest
			if promoted := step == "state"; live != map[bool]string{false: w.Live.Digest, true: want}[promoted] {
				t.Errorf("after the kill, %s is deployed", live)
			}
			if f, err := openCandidate(t.Context(), config.Path(w.path("next.onnx")).Location(), &policyFile{}); err != nil || f != nil && f.digest != want {
				t.Errorf("after the kill, the candidate is %v: %v", f, err)
			}
			o := w.options()
			o.Promote = PromoteFile
			r, err := Run(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.info(t, "live.onnx").Digest; got != want {
				t.Errorf("the next run says %q, and %s is deployed", r.Sentence, got)
			}
			if _, err := os.Stat(w.path("loop/work")); err == nil || content(t, w.path("loop/"+stateFile)) == "" {
				t.Errorf("work stays, or the state is not there: %v", err)
			}
			does(t, o, Nothing, "0 outcomes are new")
		})
	}
}
