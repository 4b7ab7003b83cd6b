package parquetfile

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
)

// readOld writes days and nanoseconds as INT96 and reads them back.
func readOld(t *testing.T, dictionary bool, times ...deprecated.Int96) ([]int64, error) {
	t.Helper()
	node := parquet.Node(parquet.Leaf(parquet.Int96Type))
	if dictionary {
		node = parquet.Encoded(node, &parquet.RLEDictionary)
	}
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.NewSchema("t", parquet.Group{"time": node}))
	for _, at := range times {
		if _, err := w.WriteRows([]parquet.Row{{parquet.ValueOf(at)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := New(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Root.Child("time").FindTime()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := f.Pages(0, c)
	if err != nil {
		return nil, err
	}
	var got []int64
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return nil, err
		}
		got = append(got, page.Ints...)
	}
}

func old(day uint32, nanos uint64) deprecated.Int96 {
	return deprecated.Int96{uint32(nanos), uint32(nanos >> 32), day}
}

// INT96 counts days from noon of a day in 4713 BC, here from midnight: 2440588 is 1970-01-01.
func TestOldTimes(t *testing.T) {
	const day = 24 * 3600 * 1_000_000
	times := []deprecated.Int96{old(2440588, 0), old(2440588, 1999), old(2440587, 86399_999_999_999), old(2440589, 5000), old(1721426, 0), old(5373484, 0), old(0, 0)}
	want := []int64{0, 1, -1, day + 5, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).UnixMicro(), -2440588 * day}
	for _, dictionary := range []bool{false, true} {
		got, err := readOld(t, dictionary, times...)
		if err != nil || len(got) != len(want) {
			t.Fatal(got, err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%v is %d, expected %d", times[i], got[i], want[i])
			}
		}
		for _, none := range []deprecated.Int96{old(2440588, 86400e9), old(2440588, math.MaxUint64), old(math.MaxUint32, 0), old(2440588+106751991, 0), old(1<<31, 0)} {
			if got, err := readOld(t, dictionary, none); err == nil || !strings.Contains(err.Error(), "has a time that is none") {
				t.Errorf("%v is %v, %v", none, got, err)
			}
		}
	}
}
