package cloud

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/cloud/cloudtest"
	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

// A store that takes requests and does not answer is an error that passes, in our words, and so is one whose packets are
// lost. A context that ends is neither.
func TestSilentStore(t *testing.T) {
	newS3(t)
	old := silence
	silence = 50 * time.Millisecond
	t.Cleanup(func() { silence = old })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	b, err := openS3(t.Context(), &url.URL{Scheme: "s3", Host: "data", RawQuery: "endpoint=http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = b.Stat(ctx, "x")
	lost := explain(ctx, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded})
	dialled := &net.Dialer{Timeout: time.Nanosecond}
	_, late := dialled.Dial("tcp", l.Addr().String())
	for name, err := range map[string]error{"no answer": err, "no connection": lost, "a late connection": explain(ctx, late)} {
		var fault *storage.Fault
		if !errors.As(err, &fault) || !fault.Passing || !strings.Contains(fault.Msg, "does not answer") {
			t.Errorf("%s: %v", name, err)
		}
	}
	cancel()
	if _, err := b.Stat(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Nothing but the program writes to standard error: the driver would tell of every object that was stored without a checksum.
func TestS3IsQuiet(t *testing.T) {
	s := newS3(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stderr
	os.Stderr = writer
	t.Cleanup(func() { os.Stderr = old })
	f := storagetest.Folder(t, s.URL())
	put, err := http.NewRequest(http.MethodPut, s.Endpoint+"/"+cloudtest.Bucket+"/plain", strings.NewReader("text"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(put)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if err := f.Download(t.Context(), "plain", filepath.Join(t.TempDir(), "plain")); err != nil { // as a whole
		t.Fatal(err)
	}
	writer.Close()
	if printed, err := io.ReadAll(reader); err != nil || len(printed) > 0 {
		t.Errorf("printed: %s, %v", printed, err)
	}
}
