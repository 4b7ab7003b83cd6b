package learn

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/learn/learntest"
)

// world is one of learntest in a test.
type world struct{ *learntest.World }

// newWorld makes a folder with the deployed policy.
func newWorld(t testing.TB, seed uint64) world {
	t.Helper()
	w, err := learntest.New(t.Context(), t.TempDir(), seed)
	if err != nil {
		t.Fatal(err)
	}
	return world{w}
}

func (w world) path(name string) string { return w.Path(name).String() }

func (w world) constant(t testing.TB, name string, pair int) decisionlog.PolicyInfo {
	t.Helper()
	info, err := w.Constant(t.Context(), name, pair)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (w world) info(t testing.TB, name string) decisionlog.PolicyInfo {
	t.Helper()
	info, err := w.Info(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (w world) serve(t testing.TB, n int) {
	t.Helper()
	if err := w.Serve(n); err != nil {
		t.Fatal(err)
	}
}

// options are those of a loop in the folder of the world.
func (w world) options() Options {
	o := DefaultOptions()
	o.Now = learntest.Begin.Add(time.Duration(w.N)*5*time.Minute + 24*time.Hour)
	o.Log, o.Deployed, o.Candidate, o.State = config.Path(w.path("log")), config.Path(w.path("live.onnx")), config.Path(w.path("next.onnx")), config.Path(w.path("loop"))
	o.Auto.Networks = nil
	return o
}

func writeFile(folder, name, text string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666)
}
