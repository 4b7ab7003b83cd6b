package wheel

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipe/internal/realdata"
)

// TestInstalled does what a user does who has Python alone: no Go, an empty home, empty caches, no variables. It installs the wheel
// into an empty environment, takes the tutorial's log to a verdict, and runs testdata/judge.py, which decides with the module.
func TestInstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	in := input(t)
	in.Binary = program(t)
	name, err := Name(in)
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t)
	wheel := filepath.Join(u.dir, name)
	if err := os.WriteFile(wheel, write(t, in), 0o644); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}

	start := time.Now()
	u.run(t, u.python, "-m", "venv", "venv")
	u.pip(t, "--constraint", filepath.Join(here, "constraints.txt"), wheel)
	installed := time.Since(start)
	outcomes := filepath.Join(realdata.Root(t), "docs", "tutorial", "outcomes.csv")
	u.run(t, "venv/bin/pipe", "import", "--config", filepath.Join(here, "outcomes.yaml"), "--in", outcomes, "--out", "costs.parquet")
	u.run(t, "venv/bin/pipe", "train", "--in", "costs.parquet", "--methods", "", "--out", "policies")
	verdict := u.run(t, "venv/bin/pipe", "eval", "--in", "costs.parquet", "--policy", "policies", "--today", "large/docs", "--out", "report")
	said, _, _ := strings.Cut(verdict, "\n\n")
	t.Logf("installed in %.1f s, first verdict after %.1f s, of which the processors worked %.1f s:\n%s",
		installed.Seconds(), time.Since(start).Seconds(), time.Duration(u.worked.Load()).Seconds(), said)
	if !strings.Contains(verdict, "deploy auto-lambda1.onnx: it saves") {
		t.Error("the verdict is another one than that of the tutorial")
	}

	u.pip(t, "--no-compile", "--constraint", filepath.Join(here, "constraints.txt"), "pandas", "polars", "pyarrow", "tokenizers", "mypy", "wheel")
	u.run(t, "venv/bin/pip", "check")
	u.run(t, "venv/bin/python", "-m", "zipfile", "--test", wheel)
	u.run(t, "venv/bin/wheel", "unpack", "--dest", "unpacked", wheel) // compares every file with RECORD
	t.Run("types", func(t *testing.T) {
		t.Parallel()
		u.run(t, "venv/bin/python", "-m", "mypy", "--strict", "--no-error-summary", "--package", "pipe_defer")
	})
	t.Run("judge", func(t *testing.T) {
		t.Parallel()
		u.run(t, "venv/bin/python", filepath.Join(here, "judge.py"), "--version", "1.2.3rc1", "--page", filepath.Join(realdata.Root(t), "docs", "python.md"))
	})
}

// program is the program that $PIPE_WHEEL_BINARY names, else it is built.
func program(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("PIPE_WHEEL_BINARY"); named != "" {
		return named
	}
	out := filepath.Join(t.TempDir(), "pipe")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", out, "./cmd/pipe")
	build.Dir = realdata.Root(t)
	if b, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return out
}

// user is someone with an empty home.
type user struct {
	dir, python string
	env         []string
	worked      atomic.Int64 // nanoseconds of processors
}

// newUser keeps of the environment only what says where packages come from.
func newUser(t *testing.T) *user {
	t.Helper()
	python, err := exec.Command("python3", "-c", "import sys, venv; assert sys.version_info >= (3, 11); print(sys.executable)").Output()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no python3 from 3.11 on with venv: ", err)
		}
		t.Skip("no python3 from 3.11 on with venv: ", err)
	}
	u := &user{dir: t.TempDir(), python: strings.TrimSpace(string(python))}
	home := filepath.Join(u.dir, "home")
	u.env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "PIP_CACHE_DIR=" + filepath.Join(home, "pip"), "PIP_DISABLE_PIP_VERSION_CHECK=1"}
	for _, v := range os.Environ() {
		key, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(key, "PIP_") && key != "PIP_CACHE_DIR" || strings.HasPrefix(key, "SSL_") || strings.HasSuffix(strings.ToLower(key), "_proxy") {
			u.env = append(u.env, v)
		}
	}
	if old, err := os.UserHomeDir(); err == nil && os.Getenv("PIP_CONFIG_FILE") == "" {
		u.env = append(u.env, "PIP_CONFIG_FILE="+filepath.Join(old, ".config", "pip", "pip.conf"))
	}
	return u
}

func (u *user) pip(t *testing.T, packages ...string) {
	t.Helper()
	u.run(t, "venv/bin/python", append([]string{"-m", "pip", "install", "--quiet", "--only-binary", ":all:"}, packages...)...)
}

// run runs a program in the folder of the user and returns what it printed.
func (u *user) run(t *testing.T, program string, arguments ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	if !filepath.IsAbs(program) {
		program = filepath.Join(u.dir, program)
	}
	c := exec.CommandContext(ctx, program, arguments...)
	c.Dir, c.Env = u.dir, u.env
	var out, messages strings.Builder
	c.Stdout, c.Stderr = &out, &messages
	if err := c.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s\n%s", program, arguments, err, out.String(), messages.String())
	}
	u.worked.Add(int64(c.ProcessState.UserTime() + c.ProcessState.SystemTime()))
	return out.String()
}
