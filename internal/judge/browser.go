package judge

import (
	"os"
	"testing"
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
