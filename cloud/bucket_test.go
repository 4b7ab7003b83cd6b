package cloud

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
)

// Of a body that fails nothing is stored, although gocloud ends such uploads as if all had come.
func TestUploadWhole(t *testing.T) {
	b := memblob.OpenBucket(nil)
	defer b.Close()
	o := &blob.WriterOptions{ContentType: written}
	if err := uploadWhole(t.Context(), b, "x", &broken{bytes.NewReader(make([]byte, 5<<20))}, o); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
	if there, err := b.Exists(t.Context(), "x"); there || err != nil {
		t.Errorf("a part of it was stored: %v, %v", there, err)
	}
	if err := uploadWhole(t.Context(), b, "x", bytes.NewReader([]byte("all")), o); err != nil {
		t.Error(err)
	}
	if got, err := b.ReadAll(t.Context(), "x"); string(got) != "all" {
		t.Errorf("there is %q, %v", got, err)
	}
}
