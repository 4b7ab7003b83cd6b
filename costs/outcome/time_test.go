package outcome

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/storage"
)

const timedCSV = `id,who,wrong,when
a,x,0,2026-01-01 00:00:00
a,y,1,2026-01-01 00:00:09
b,x,0,2026-01-05T00:00:00Z
b,y,1,2026-01-04
c,x,0,2026-01-02
c,y,1,2026-01-03T00:00:00+01:00
d,x,0,2026-02-01
d,y,1,2026-02-01
`

func timedImport(t *testing.T, table string) Config {
	dir := t.TempDir()
	c := DefaultConfig()
	c.Outcomes = Table{File: storage.File(filepath.Join(dir, "o.csv")), Columns: Columns{ID: "id", Expert: "who", Loss: "wrong", Time: "when"}}
	c.Features = []FeatureTable{{File: storage.File(filepath.Join(dir, "f.csv")), ID: "id", Columns: []string{"x"}}}
	c.Split = SplitRule{Kind: costs.SplitTime, Validation: 0.25, Test: 0.25}
	put(t, c.Outcomes.File.String(), table)
	put(t, c.Features[0].File.String(), "id,x,at,user\na,1,1767225600,u\nb,2,1767571200,u\nc,3,1767398400,v\nd,4,1769904000,w\n")
	return c
}

// The time of an instance is the latest of its rows; the latest instances are held out.
func TestImportTimes(t *testing.T) {
	c := timedImport(t, timedCSV)
	tensor, report, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := []int64{1767225609e6, 1767571200e6, 1767394800e6, 1769904000e6}
	if !slices.Equal(tensor.Times, want) || !slices.Equal(tensor.Splits, []costs.Split{costs.Train, costs.Val, costs.Train, costs.Test}) {
		t.Errorf("times %v, splits %v", tensor.Times, tensor.Splits)
	}
	order := costs.TimeOrder{Train: "2026-01-02T23:00:00Z", Val: "2026-01-05T00:00:00Z", Test: "2026-02-01T00:00:00Z"}
	if report.Time == nil || *report.Time != order {
		t.Errorf("order %+v", report.Time)
	}
	c.Outcomes.Columns.Time, c.Features[0].Time, c.Time.Unit = "", "at", "seconds"
	c.Features[0].Group = "user"
	tensor, report, err = Import(context.Background(), c)
	if err != nil || tensor.Times[2] != 1767398400e6 || report.Time.Early != 1 {
		t.Errorf("%v: %+v, %+v", err, tensor, report.Time)
	}
}

func TestImportBadTimes(t *testing.T) {
	for want, spoil := range map[string]func(*Config) string{
		"row 3: is missing": func(*Config) string { return strings.Replace(timedCSV, "2026-01-01 00:00:09", "", 1) },
		"row 2: is the number 1767225600, whose unit is not known": func(*Config) string {
			return strings.Replace(timedCSV, "2026-01-01 00:00:00", "1767225600", 1)
		},
		"row 9: \"01.02.2026\" is not a time": func(*Config) string {
			return strings.TrimSuffix(timedCSV, "2026-02-01\n") + "01.02.2026\n"
		},
	} {
		c := timedImport(t, "")
		put(t, c.Outcomes.File.String(), spoil(&c))
		_, _, err := Import(context.Background(), c)
		place, msg, _ := strings.Cut(want, ": ")
		row := 0
		if _, scanned := fmt.Sscanf(place, "row %d", &row); scanned != nil {
			t.Fatal(scanned)
		}
		dataerrortest.Check(t, err, c.Outcomes.File.String(), row, "when", msg)
	}
	c := timedImport(t, timedCSV)
	c.Features[0].Time, c.Time.Unit = "at", "days"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "time is taken from 2 places") || !strings.Contains(err.Error(), `time.unit: unknown unit "days"`) {
		t.Errorf("error is %v", err)
	}
	c.Outcomes.Columns.Time, c.Features[0].Time = "", ""
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "split.kind is time, but no table has a column time") {
		t.Errorf("error is %v", err)
	}
}
