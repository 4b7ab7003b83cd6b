package tablefile

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// Dates and times in a Parquet file are stored as integers. They are refused in a column that is read, and ignored in
// others.
func TestDatesOfParquet(t *testing.T) {
	type row struct {
		ID      string    `parquet:"id"`
		Day     int32     `parquet:"day,date"`
		Clock   int64     `parquet:"clock,time(microsecond)"`
		Instant time.Time `parquet:"instant,timestamp(millisecond)"`
		Days    []int32   `parquet:"days,list" parquet-element:",date"`
		Plain   int64     `parquet:"plain"`
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := parquet.WriteFile(path, []row{{"a", 19000, 5, time.Unix(1e9, 0), []int32{1}, 7}}); err != nil {
		t.Fatal(err)
	}
	for column, refused := range map[string]bool{"id": false, "plain": false, "day": true, "clock": true, "instant": true, "days": true} {
		table, err := Open(t.Context(), storage.File(path))
		if err != nil {
			t.Fatal(err)
		}
		if err = table.Choose([]string{column}); err == nil {
			_, err = table.Next(make([]Cell, 1))
		}
		err = dataerror.InFile(path, err)
		table.Close()
		var data *dataerror.Error
		told := errors.As(err, &data) && data.File == path && data.Column == column && strings.Contains(err.Error(), "holds dates or times, which are not supported; cast")
		if told != refused || !refused && err != nil {
			t.Errorf("%s: error is %v", column, err)
		}
	}
}

// A row group of 0 rows has no rows, at the end of a table or in the middle.
func TestEmptyRowGroup(t *testing.T) {
	for path, want := range map[string]int{"no-rows.parquet": 0, "empty-group.parquet": 4} {
		table, err := Open(t.Context(), storage.File(filepath.Join("..", "parquetfile", "testdata", path)))
		if err == nil {
			err = table.Choose([]string{"id", "v"})
		}
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		cells := make([]Cell, 2)
		for ; err == nil; rows++ {
			_, err = table.Next(cells)
		}
		table.Close()
		if !errors.Is(err, io.EOF) || rows-1 != want {
			t.Errorf("%s: %d rows, %v; expected %d", path, rows-1, err, want)
		}
	}
}
