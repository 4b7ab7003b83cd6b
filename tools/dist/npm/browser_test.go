package npm

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/internal/judge"
)

// inBrowser is what page.html answers, which loads the package from folder with onnxruntime-web, and policies from another folder.
func inBrowser(t *testing.T, folder, policies string) []byte {
	t.Helper()
	browser := judge.Chromium(t)
	files, answers := http.FileServer(http.Dir(folder)), make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		policy, isPolicy := strings.CutPrefix(r.URL.Path, "/file")
		switch {
		case r.Method == http.MethodPost:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			answers <- body
		case isPolicy && strings.HasPrefix(policy, policies):
			http.ServeFile(w, r, policy)
		default:
			if strings.HasSuffix(r.URL.Path, "js") {
				w.Header().Set("Content-Type", "text/javascript")
			}
			files.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	window := exec.CommandContext(t.Context(), browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--user-data-dir="+filepath.Join(t.TempDir(), "profile"), server.URL+"/page.html")
	if err := window.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = window.Process.Kill() // it shows the page until it is ended
		_ = window.Wait()
	}()
	select {
	case out := <-answers:
		return out
	case <-time.After(2 * time.Minute):
		t.Fatal("the page does not answer in two minutes")
		return nil
	}
}
