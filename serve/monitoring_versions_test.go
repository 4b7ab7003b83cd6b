package serve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pipe/internal/config"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/monitor"
	"pipe/serve/policies"
)

// versions is a monitor of a policy with the versions A and B, of which A is served and watched.
type versions struct {
	*monitoring
	a, b   []byte // of their files
	file   string
	digest map[byte]string
	log    *bytes.Buffer // read it when the monitor is closed
}

// newVersions makes a monitor; it is closed by the test.
func newVersions(t *testing.T) *versions {
	t.Helper()
	read := func(p *policy.Policy) []byte {
		b, err := os.ReadFile(decidetest.WritePolicy(t, p))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	p := decidetest.AnyPrice(4)
	baseline := aBaseline(t, p)
	v := &versions{a: read(p), file: filepath.Join(t.TempDir(), "p.onnx"), digest: map[byte]string{}, log: new(bytes.Buffer)}
	p.Info = map[string]string{"guard": `{"fixed":"x","gain":1,"lower_bound":1,"confidence":0.95,"rows":40,"fallback":false}`}
	p.Lambda += 0.5
	v.b = read(p)
	v.write(t, v.a)
	s := policies.DefaultSettings()
	s.Paths, s.Poll = []string{v.file}, 0
	log := slog.New(slog.NewTextHandler(v.log, nil))
	set, err := policies.Open(t.Context(), s, orttest.Open(t, 1), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	o := DefaultMonitorSettings()
	o.Baseline = config.Path(baseline)
	if v.monitoring, err = newMonitoring(t.Context(), o, set, orttest.Open(t, 1), log); err != nil {
		t.Fatal(err)
	}
	v.digest['A'] = v.served(t)
	return v
}

// write replaces the file of the policy.
func (v *versions) write(t *testing.T, content []byte) {
	t.Helper()
	next := v.file + ".next"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, v.file); err != nil {
		t.Fatal(err)
	}
}

// served is the digest of the version that is served now.
func (v *versions) served(t *testing.T) string {
	t.Helper()
	p, err := v.policies.Acquire("")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	return p.Digest
}

// serve serves a version from now on.
func (v *versions) serve(t *testing.T, version byte) {
	t.Helper()
	v.write(t, map[byte][]byte{'A': v.a, 'B': v.b}[version])
	v.policies.Reload(t.Context())
	v.digest[version] = v.served(t)
}

// decided puts a request that a version decided into the queue.
func (v *versions) decided(version byte) {
	v.enqueue(observation{digest: v.digest[version], features: make([]float32, 4)})
}

// watches waits until a version is watched, and has had a number of rows.
func (v *versions) watches(t *testing.T, version byte, rows int64) {
	t.Helper()
	waitFor(t, func() bool {
		s := v.status()
		return s.Policy.Digest == v.digest[version] && s.New.Rows == rows
	})
}

// taken waits until the queue is empty and what was in it is counted.
func (v *versions) taken(t *testing.T) {
	t.Helper()
	waitFor(t, func() bool { return len(v.queue) == 0 })
}

// says waits until the status and the metrics say that a version is served and not watched, and why. "": it is watched.
func (v *versions) says(t *testing.T, served, why string) {
	t.Helper()
	waitFor(t, func() bool {
		s := v.status()
		return s.Watched == (served == "") && strings.Contains(strings.Join(s.Notes, " "), why)
	})
	s := v.status()
	if served != "" && (s.Served != v.digest[served[0]] || s.Verdict != monitor.Untested || s.Inputs.Verdict != monitor.Untested) {
		t.Errorf("%+v", s)
	}
	of := prometheus.NewRegistry()
	of.MustRegister(monitorFigures{v.monitoring})
	figures, err := testutil.GatherAndCount(of, "pipe_monitor_window_rows")
	if err != nil || (figures == 1) != (served == "") {
		t.Errorf("%d figures, %v", figures, err)
	}
}

// TestRollbackIsMonitored serves A, B and A again, while requests that A decided before are still in the queue.
func TestRollbackIsMonitored(t *testing.T) {
	v := newVersions(t)
	v.decided('A')
	v.watches(t, 'A', 1)
	v.says(t, "", "")
	v.serve(t, 'B')
	v.says(t, "B", "is not watched yet")
	v.decided('B')
	v.decided('A') // it was decided before the reload
	v.decided('B')
	v.watches(t, 'B', 2)
	v.serve(t, 'A')
	v.decided('B')
	v.decided('A')
	v.watches(t, 'A', 1)
	if err := v.close(); err != nil || strings.Contains(v.log.String(), "not monitored") {
		t.Error(err, v.log)
	}
}

// TestRefusedVersionIsTriedAgain checks that a version that could not be opened is tried once for each time that it is
// loaded, not for each request.
func TestRefusedVersionIsTriedAgain(t *testing.T) {
	v := newVersions(t)
	v.serve(t, 'B')
	v.write(t, v.a) // not loaded yet: the file is not that of the version that decides
	v.decided('B')
	v.decided('B')
	v.taken(t)
	v.says(t, "B", "cannot be watched")
	v.policies.Reload(t.Context())
	v.decided('A')
	v.watches(t, 'A', 1)
	v.serve(t, 'B')
	v.decided('B')
	v.watches(t, 'B', 1)
	v.says(t, "", "")
	if err := v.close(); err != nil || strings.Count(v.log.String(), "not monitored") != 1 {
		t.Error(err, v.log)
	}
}

// TestStatusDoesNotWait asks for the status while a version is being opened: its saved state is a pipe that nobody has
// written to.
func TestStatusDoesNotWait(t *testing.T) {
	v := newVersions(t)
	v.serve(t, 'B')
	v.settings.State = config.Path(filepath.Join(t.TempDir(), "state"))
	if err := syscall.Mkfifo(string(v.settings.State), 0o600); err != nil {
		t.Skip(err)
	}
	v.decided('B')
	f, err := os.OpenFile(string(v.settings.State), os.O_WRONLY, 0) // waits until the monitor opens it
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	go func() { found <- v.status().Policy.Digest }()
	select {
	case digest := <-found:
		if digest != v.digest['A'] {
			t.Errorf("%s is watched", digest)
		}
	case <-time.After(10 * time.Second):
		t.Error("the status waits for a version that is being opened")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	v.watches(t, 'B', 1)
	if err := errors.Join(os.Remove(f.Name()), v.close()); err != nil {
		t.Error(err)
	}
}

// TestEndDoesNotOpen checks that the end of the server does not decide a baseline first.
func TestEndDoesNotOpen(t *testing.T) {
	v := newVersions(t)
	v.serve(t, 'B')
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := v.close(); err != nil || v.follow(ended, v.digest['B']) || v.log.Len() > 0 {
		t.Error(err, v.log)
	}
}

// TestRefusedVersionIsTriedAfterAWhile: a version that could not be opened for a moment is watched later, without a reload.
func TestRefusedVersionIsTriedAfterAWhile(t *testing.T) {
	v := newVersions(t)
	v.retryAfter = 0 // before anything is counted
	v.serve(t, 'B')
	v.write(t, v.a)
	v.decided('B')
	v.taken(t)
	v.says(t, "B", "cannot be watched")
	v.write(t, v.b)
	v.decided('B')
	v.watches(t, 'B', 1)
	v.says(t, "", "")
	if err := v.close(); err != nil {
		t.Error(err, v.log)
	}
}
