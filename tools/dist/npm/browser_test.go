package npm

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pipe/internal/judge"
)

// inBrowser is what page.html answers, which loads the package from folder with onnxruntime-web, and policies from another folder.
func inBrowser(t *testing.T, folder, policies string) []byte {
	t.Helper()
	judge.Chromium(t)
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
	defer judge.Window(t, server.URL+"/page.html")() // it shows the page until it is closed
	select {
	case out := <-answers:
		return out
	case <-time.After(2 * time.Minute):
		t.Fatal("the page does not answer in two minutes")
		return nil
	}
}
