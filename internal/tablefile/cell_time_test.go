package tablefile

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/internal/judge"
	"pipe/internal/storage"
)

const micros2026 = 1767323045678901 // 2026-01-02T03:04:05.678901Z

func TestCellTime(t *testing.T) {
	for text, want := range map[string]int64{
		"2026-01-02T03:04:05.678901Z":         micros2026,
		" 2026-01-02 03:04:05.678901 ":        micros2026,
		"2026-01-02T05:04:05.678901999+02:00": micros2026,
		"2026-01-02 01:04:05.678901-02:00":    micros2026,
		"2026-01-02T03:04:05":                 micros2026 - 678901,
		"2026-01-02":                          1767312000e6,
		"seconds 1767323045":                  micros2026 - 678901,
		"seconds -1767323045":                 -1767323045e6,
		"seconds 1767323045.5":                1767323045_500000,
		"milliseconds 1767323045678":          micros2026 - 901,
		"microseconds 1767323045678901":       micros2026,
		"nanoseconds 1767323045678901999":     micros2026,
		"nanoseconds -1767323045678901001":    -micros2026 - 1,
		"seconds 2026-01-02T03:04:05.678901Z": micros2026,
	} {
		unit := TimeUnit("")
		if u, rest, ok := strings.Cut(text, " "); ok && TimeUnit(u).Check() == nil && u != "" {
			unit, text = TimeUnit(u), rest
		}
		if got, err := (&Cell{kind: textCell, text: text}).Time(unit); err != nil || got != want {
			t.Errorf("%q in %q: %d, %v, expected %d", text, unit, got, err, want)
		}
	}
	for _, c := range []struct{ unit, text, says string }{
		{"", "1767323045", "is the number 1767323045, whose unit is not known; set time.unit"},
		{"milliseconds", "1767323045", "as milliseconds since 1970 this is not a time of records"},
		{"seconds", "1767323045678", "not a time of records"},
		{"seconds", "20260102", "not a time of records"},
		{"seconds", "1e300", "not a time of records"},
		{"nanoseconds", "9223372036854775808000", "not a time of records"},
		{"", "02/01/2026", "is not a time; write 2026-01-31T12:00:00Z"},
		{"", "2026-02-30", "is not a time"},
		{"", "yesterday", "is not a time"},
		{"", "0000-01-01", "not in the years"},
	} {
		if got, err := (&Cell{kind: textCell, text: c.text}).Time(TimeUnit(c.unit)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q in %q: %d, %v", c.text, c.unit, got, err)
		}
	}
	if _, err := (&Cell{}).Time(""); err == nil {
		t.Error("a missing cell is a time")
	}
	if TimeUnit("days").Check() == nil {
		t.Error("days are a unit")
	}
}

// An offset from UTC is read in every spelling of databases and programs. A name is none: CST is three zones, and summer time
// moves others.
func TestZones(t *testing.T) {
	const three = 1767323045_000000 // 2026-01-02T03:04:05Z
	for text, want := range map[string]int64{
		"2026-01-02 05:04:05+02": three, "2026-01-02 05:04:05+0200": three, "2026-01-02 05:04:05+02:00": three,
		"2026-01-02 05:04:05 +02": three, "2026-01-02 05:04:05 +0200": three, "2026-01-02 05:04:05 +02:00": three,
		"2026-01-02T05:04:05+02": three, "2026-01-02T05:04:05 +02:00": three,
		"2026-01-02T08:34:05+05:30": three, "2026-01-02 08:34:05+0530": three, "2026-01-01 23:34:05 -0330": three, "2026-01-01 22:04:05-05": three,
		"2026-01-02 03:04:05 UTC": three, "2026-01-02 03:04:05UTC": three, "2026-01-02T03:04:05 Z": three, "2026-01-02 03:04:05 GMT": three, "2026-01-02 03:04:05Z": three,
		"2026-01-02 03:04:05.678901+00": micros2026, "2026-01-02 05:04:05.678901 +0200": micros2026, "2026-01-02T03:04:05.678901 UTC": micros2026, " 2026-01-02 03:04:05.678901+00 ": micros2026,
		"2026-01-02T03:04:05": three, "2026-01-02": three - (3*3600+4*60+5)*1e6,
	} {
		if got, err := (&Cell{kind: textCell, text: text}).Time(""); err != nil || got != want {
			t.Errorf("%q: %d, %v, expected %d", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"2026-01-02 03:04:05 CEST":                     "has the time zone CEST, and names of zones are not read; write its offset from UTC, as in",
		"2026-01-02T03:04:05 Europe/Oslo":              "has the time zone Europe/Oslo,",
		"2026-01-02T03:04:05+02:00[Europe/Oslo]":       "has the time zone Europe/Oslo,",
		"2026-01-02 03:04:05.5 +0200 CEST":             "has the time zone CEST,",
		"2026-01-02 03:04:05 UTC+2":                    "has the time zone UTC+2,",
		"2026-01-02 03:04:05 utc":                      "has the time zone utc,",
		"2026-01-02 03:04:05 PM":                       "is not a time; write",
		"2026-01-02 03:04:05+2":                        "is not a time; write",
		"2026-01-02 03:04:05+02:0":                     "is not a time; write",
		"2026-01-02 03:04:05+99":                       "is not a time; write",
		"2026-01-02 03:04:05+02:99":                    "is not a time; write",
		"2026-01-02 03:04:05  +02":                     "is not a time; write",
		"2026-01-02+02":                                "is not a time; write",
		"2026-01-02 UTC":                               "is not a time; write",
		"2026-01-02 03:04:05" + strings.Repeat("A", 9): "has the time zone",
	} {
		if got, err := (&Cell{kind: textCell, text: text}).Time(""); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %d, %v, expected %q", text, got, err, says)
		}
	}
}

// Columns of times that pandas writes, of every type that it has for them, are read as the same moments.
func TestTimesOfPandas(t *testing.T) {
	py, dir := judge.Python(t, "pandas", "pyarrow"), t.TempDir()
	judge.Run(t, py, dir, `
import pandas as pd, pyarrow as pa, pyarrow.parquet as pq
at = pd.to_datetime(["2026-01-02T03:04:05.678901Z", "1931-05-06T07:08:09.123456Z"])
naive = at.tz_localize(None)
frame = pd.DataFrame({"utc": at, "oslo": at.tz_convert("Europe/Oslo"), "naive": naive, "text": at.astype(str), "micros": naive.astype("datetime64[us]").astype("int64")})
frame["day"] = naive.date
frame["floats"] = frame["micros"] / 1e6
frame.to_parquet("t.parquet")
frame.to_csv("t.csv", index=False)
frame.to_json("t.jsonl", orient="records", lines=True, date_format="iso", date_unit="us")
`)
	columns := []string{"utc", "oslo", "naive", "text", "day", "micros", "floats"}
	for _, name := range []string{"t.parquet", "t.csv", "t.jsonl"} {
		table, err := Open(t.Context(), storage.File(filepath.Join(dir, name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Choose(columns, columns...); err != nil {
			t.Fatal(err)
		}
		cells := make([]Cell, len(columns))
		for _, want := range []time.Time{time.UnixMicro(micros2026), time.Date(1931, 5, 6, 7, 8, 9, 123456000, time.UTC)} {
			if _, err := table.Next(cells); err != nil {
				t.Fatal(err)
			}
			for i, c := range columns {
				wanted, unit := want.UnixMicro(), TimeUnit("")
				switch c {
				case "micros":
					unit = "microseconds"
				case "floats":
					unit = "seconds"
				case "day":
					wanted = want.UTC().Truncate(24 * time.Hour).UnixMicro()
				}
				if got, err := cells[i].Time(unit); err != nil || got != wanted && (c != "floats" || got != wanted-1) {
					t.Errorf("%s, %s: %d, %v, expected %d", name, c, got, err, wanted)
				}
			}
		}
		if _, err := table.Next(cells); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
		table.Close()
	}
	table, err := Open(t.Context(), storage.File(filepath.Join(dir, "t.parquet")))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if err := table.Choose(columns, "utc", "oslo", "naive"); err == nil || !strings.Contains(err.Error(), "column day: holds dates or times") {
		t.Errorf("a date is read where no time is wanted: %v", err)
	}
	if err := table.Choose([]string{"utc"}, "utc"); err != nil {
		t.Fatal(err)
	}
	batch, err := table.Read()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := batch.Columns[0].Float(0); err == nil || !strings.Contains(err.Error(), `"2026-01-02T03:04:05.678901Z" is not a number`) {
		t.Errorf("a time is the number %v: %v", v, err)
	}
}

// Times of INT96, as Spark writes them, are those that pyarrow reads. Outside the column of times they are refused.
func TestTimesOfSpark(t *testing.T) {
	py, dir := judge.Python(t, "pyarrow"), t.TempDir()
	out := judge.Run(t, py, dir, `
import pyarrow as pa, pyarrow.parquet as pq
micros = [0, 1, -1, 1767323045678901, -1767323045678901, -62135596800000000, 253402300799999999, -86400000000, None] + [7919 * 10**9 * i - 10**15 for i in range(3000)]
for n, options in enumerate([{}, {"use_dictionary": False}, {"data_page_version": "2.0", "compression": "zstd"}]):
    pq.write_table(pa.table({"t": pa.array(micros, pa.timestamp("us"))}), f"{n}.parquet", use_deprecated_int96_timestamps=True, row_group_size=1000, **options)
    assert pq.ParquetFile(f"{n}.parquet").schema.column(0).physical_type == "INT96"
read = pq.read_table("0.parquet", coerce_int96_timestamp_unit="us")["t"].cast(pa.int64()).to_pylist()
print(*["null" if v is None else v for v in read])
`)
	for _, name := range []string{"0.parquet", "1.parquet", "2.parquet"} {
		table, err := Open(t.Context(), storage.File(filepath.Join(dir, name)))
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		if err := table.Choose([]string{"t"}); err == nil || !strings.Contains(err.Error(), "holds dates or times") {
			t.Error(err)
		}
		if err := table.Choose([]string{"t"}, "t"); err != nil {
			t.Fatal(err)
		}
		cells := make([]Cell, 1)
		for i, want := range strings.Fields(out) {
			if _, err := table.Next(cells); err != nil {
				t.Fatal(err)
			}
			got := "null"
			if !cells[0].Missing() {
				at, err := cells[0].Time("")
				got = fmt.Sprint(at)
				if err != nil {
					t.Error(err)
				}
			}
			if got != want {
				t.Errorf("%s, row %d: %s, expected %s", name, i+1, got, want)
			}
		}
	}
}
