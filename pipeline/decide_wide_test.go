package pipeline

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pipe/models"
)

// The header of a wide table is checked in a time that grows with its columns, not with their square: that would take
// minutes here.
func TestWideHeader(t *testing.T) {
	const columns = 300_000
	var header, row strings.Builder
	header.WriteString("id")
	row.WriteString("a")
	for c := range columns {
		fmt.Fprintf(&header, ",a_rather_long_name_%06d", c)
		row.WriteString(",1")
	}
	start := time.Now()
	in := io.NopCloser(strings.NewReader(header.String() + "\n" + row.String() + "\n"))
	src, err := openStream("wide", formatCSV, in, &models.PolicyInfo{Dim: columns})
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	if b, err := src.next(); err != nil || len(b.features) != columns {
		t.Fatalf("%v", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// Batches of wide rows have fewer of them, and at least one.
func TestBatchOf(t *testing.T) {
	for dim, want := range map[int]int{0: 4096, 1: 4096, 1024: 4096, 100_000: 41, 1 << 23: 1} {
		if b, rows := batchOf(dim); rows != want || cap(b.features) < want*dim {
			t.Errorf("%d features: %d rows, want %d", dim, rows, want)
		}
	}
}
