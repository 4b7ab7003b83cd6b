package cloud

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/cloud/cloudtest"
	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

func newS3(t *testing.T) *cloudtest.S3 {
	t.Helper()
	for name, value := range cloudtest.Environment() {
		t.Setenv(name, value)
	}
	return cloudtest.NewS3(t)
}

func open(t *testing.T, url string) (*storage.Folder, error) {
	t.Helper()
	at, err := storage.Parse(url)
	if err != nil {
		return nil, err
	}
	return at.Folder(t.Context())
}

// some lets a share of the requests fail.
func some(share float64, status int) func(*http.Request) int {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(1, 2))
	return func(*http.Request) int {
		mu.Lock()
		defer mu.Unlock()
		if r.Float64() < share {
			return status
		}
		return 0
	}
}

func TestS3(t *testing.T) {
	s := newS3(t)
	t.Run("whole bucket", func(t *testing.T) { storagetest.Conform(t, storagetest.Folder(t, s.URL())) })
	t.Run("folder", func(t *testing.T) { storagetest.Conform(t, storagetest.Folder(t, s.URL("a", "folder"))) })
	s.Fail(some(0.05, http.StatusServiceUnavailable))
	t.Run("busy", func(t *testing.T) { storagetest.Conform(t, storagetest.Folder(t, s.URL("busy"))) })
}

func write(t *testing.T, url string) error {
	f, err := open(t, url)
	if err == nil {
		err = f.WriteFile(t.Context(), "x", []byte("x"), storage.WriteOptions{})
	}
	return err
}

func read(t *testing.T, url string) error {
	f, err := open(t, url)
	if err == nil {
		_, err = f.ReadFile(t.Context(), "x", 10)
	}
	return err
}

func list(t *testing.T, url string) error {
	f, err := open(t, url)
	if err != nil {
		return err
	}
	for _, err := range f.List(t.Context(), "") {
		return err
	}
	return nil
}

// A bucket that is not there, denied, read-only or out of reach is one error each, with advice and without secrets.
func TestS3Refuses(t *testing.T) {
	s := newS3(t)
	readOnly := func(r *http.Request) int {
		if r.Method == http.MethodPut || r.Method == http.MethodPost {
			return http.StatusForbidden
		}
		return 0
	}
	denied := func(*http.Request) int { return http.StatusForbidden }
	missing := strings.Replace(s.URL("x"), cloudtest.Bucket, "no-such-bucket", 1)
	away := "s3://data/x?region=us-east-1&endpoint=http://127.0.0.1:1"
	for name, c := range map[string]struct {
		fail func(*http.Request) int
		do   func(*testing.T, string) error
		url  string
		kind error
		text string
	}{
		"missing bucket, write": {nil, write, missing, fs.ErrNotExist, "no such bucket"},
		"missing bucket, read":  {nil, read, missing, fs.ErrNotExist, "no such bucket"},
		"missing bucket, list":  {nil, list, missing, fs.ErrNotExist, "no such bucket"},
		"missing object":        {nil, read, s.URL("none"), fs.ErrNotExist, "no such object"},
		"denied":                {denied, read, s.URL("x"), fs.ErrPermission, "access is denied"},
		"denied, list":          {denied, list, s.URL("x"), fs.ErrPermission, "access is denied"},
		"read-only":             {readOnly, write, s.URL("x"), fs.ErrPermission, "access is denied"},
		"unreachable":           {nil, read, away, nil, "connection refused"},
		"unknown parameter":     {nil, read, s.URL("x") + "&password=hunter2", nil, "password"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "unreachable" {
				t.Skip("takes as long as all tries, about 20 s")
			}
			s.Fail(c.fail)
			err := c.do(t, c.url)
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("the error is %v", err)
			}
			var hinted interface{ Hint() string }
			if !errors.As(err, &hinted) || hinted.Hint() == "" && name != "missing object" {
				t.Errorf("no hint: %v", err)
			}
			for _, secret := range []string{"AKIATESTKEY", "a-secret", "endpoint", "hunter2", "Signature", "\n"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q is shown: %v", secret, err)
				}
			}
		})
	}
}

// Pauses of workers that were refused at the same moment are short, and differ.
func TestPausesAreSpread(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		for attempt := 1; attempt < attempts; attempt++ {
			pause, err := spread{}.RetryDelay(attempt, nil)
			if err != nil || pause < firstPause/2 || pause > 3*firstPause {
				t.Fatalf("the pause after attempt %d is %v, %v", attempt, pause, err)
			}
			seen[pause] = true
		}
	}
	if len(seen) < 100 {
		t.Errorf("%d pauses are alike", 200-len(seen))
	}
}

// A driver's text with a signed URL or keys loses both.
func TestNoSecretsInTexts(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "very/secret+key")
	text := clean(`Get "https://b.s3.amazonaws.com/x?X-Amz-Signature=abc&X-Amz-Credential=AKIA": very/secret+key is wrong`)
	if strings.Contains(text, "Signature") || strings.Contains(text, "AKIA") || strings.Contains(text, "very") || !strings.Contains(text, "is wrong") {
		t.Error(text)
	}
}

// An upload in several parts is whole when a share of its requests fails.
func TestLargeUploadWithFaults(t *testing.T) {
	s := newS3(t)
	s.Fail(some(0.05, http.StatusServiceUnavailable))
	data := bytes.Repeat([]byte("0123456789abcdef"), 4<<20)
	f := storagetest.Folder(t, s.URL("large"))
	if err := f.WriteFile(t.Context(), "x", data, storage.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := f.ReadFile(t.Context(), "x", 1<<30)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
