package judge

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Chromium returns the path of a browser that tests run without a window: $PIPE_CHROMIUM, else Debian's. If there is none,
// the test is skipped. With -short it is skipped, as with Python.
func Chromium(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a browser")
	}
	browser := os.Getenv("PIPE_CHROMIUM")
	if browser != "" {
		return browser
	}
	browser = "/usr/bin/chromium"
	if _, err := os.Stat(browser); err != nil {
		t.Skip("no Chromium (PIPE_CHROMIUM can name one): ", err)
	}
	return browser
}

// Browser is a command that runs the browser of [Chromium] with an empty profile.
func Browser(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), Chromium(t), append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
		"--user-data-dir=" + filepath.Join(t.TempDir(), "profile"),
	}, args...)...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // it ends its processes, which write to the profile
	c.WaitDelay = 20 * time.Second
	return c
}

// Window opens an address in such a browser. stop closes it.
func Window(t testing.TB, address string, args ...string) (stop func()) {
	t.Helper()
	c := Browser(t, append(args, "--remote-debugging-port=0", address)...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = c.Cancel()
		_ = c.Wait()
	}
}
