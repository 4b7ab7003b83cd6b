package parquetjoin

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

type row struct {
	ID     string    `parquet:"id,plain"`
	Expert string    `parquet:"expert,dict"`
	Action int32     `parquet:"action"`
	Scores []float32 `parquet:"scores,list"`
}

const groupRows = 100

func write(t interface{ Fatal(...any) }, note string, rows []row) []byte {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.CreatedBy("pipe", "1", "0"), parquet.MaxRowsPerRowGroup(groupRows),
		parquet.DataPageStatistics(false), parquet.PageBufferSize(512), parquet.KeyValueMetadata("note", note))
	for len(rows) > 0 {
		n := min(len(rows), 64)
		if _, err := w.Write(rows[:n]); err != nil {
			t.Fatal(err)
		}
		rows = rows[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func rowsUpTo(n int) (rows []row) {
	for i := range n {
		rows = append(rows, row{fmt.Sprintf("row %d", i), strings.Repeat("e", i%3), int32(i % 7), []float32{float32(i), 1}[:i%3%2+1]})
	}
	return rows
}

func partOf(b []byte) Part { return Part{bytes.NewReader(b), int64(len(b))} }

// TestJoinEqualsOneFile: files that are cut where row groups end, joined, are the file that was never cut. The rows reach
// the writer in the same pieces here, as they do in a shard.
func TestJoinEqualsOneFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1000).Draw(t, "rows")
		rows := rowsUpTo(n)
		whole := writeGroups(t, rows)
		var parts []Part
		for from := 0; from < n; {
			to := min(n, from+groupRows*rapid.IntRange(0, 4).Draw(t, "groups"))
			parts = append(parts, partOf(writeGroups(t, rows[from:to])))
			from = to
		}
		if len(parts) == 0 {
			parts = []Part{partOf(writeGroups(t, nil))}
		}
		var got bytes.Buffer
		if err := Join(&got, parts); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), whole) {
			t.Fatalf("%d parts of %d rows: %d bytes, want %d", len(parts), n, got.Len(), len(whole))
		}
		back, err := parquet.Read[row](bytes.NewReader(got.Bytes()), int64(got.Len()))
		if err != nil || len(back) != n {
			t.Fatalf("%d rows of %d: %v", len(back), n, err)
		}
	})
}

// writeGroups writes rows so that every row group gets the same calls of Write.
func writeGroups(t interface{ Fatal(...any) }, rows []row) []byte {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.CreatedBy("pipe", "1", "0"), parquet.MaxRowsPerRowGroup(groupRows),
		parquet.DataPageStatistics(false), parquet.PageBufferSize(512), parquet.KeyValueMetadata("note", "x"))
	for from := 0; from < len(rows); from += groupRows / 2 {
		if _, err := w.Write(rows[from:min(len(rows), from+groupRows/2)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJoinRefuses(t *testing.T) {
	good, other := write(t, "a", rowsUpTo(50)), write(t, "b", rowsUpTo(50))
	for name, parts := range map[string][][]byte{
		"there are none":       nil,
		"differ from those of": {good, other},
		"too short":            {good, good[:5]},
		"no footer":            {good, good[:len(good)-20]},
	} {
		var list []Part
		for _, b := range parts {
			list = append(list, partOf(b))
		}
		if err := Join(&bytes.Buffer{}, list); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
