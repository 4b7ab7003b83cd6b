package parquetfile

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

type wide struct {
	A, B, C, D, E, F, G, H float64
}

// Reading one of eight columns of an object costs the footer and about that column, in few requests.
func TestRemoteColumn(t *testing.T) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[wide](&b)
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]wide, 500_000)
	for i := range rows {
		rows[i] = wide{r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64()}
	}
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m, url := storagetest.New(t)
	folder := storagetest.Folder(t, url)
	if err := folder.WriteFile(t.Context(), "wide.parquet", b.Bytes(), storage.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), storagetest.At(t, url+"/wide.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	opened, _ := m.Requests("read")
	values := 0
	for g := range f.Groups() {
		pages, err := f.Pages(g, f.leaves[3])
		if err != nil {
			t.Fatal(err)
		}
		for {
			p, err := pages.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			values += p.Len
		}
	}
	n, read := m.Requests("read")
	t.Logf("%d bytes in all; opened with %d requests; %d requests of %d bytes for one column of eight", b.Len(), opened, n, read)
	if opened > 2 || n > 10 || read > int64(b.Len()/8)+4<<20 || values != len(rows) {
		t.Errorf("%d requests to open, %d in all, of %d bytes of %d; %d values", opened, n, read, b.Len(), values)
	}
}
