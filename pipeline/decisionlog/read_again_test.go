package decisionlog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line of the open segment that stands twice counts once, wherever it is, and the summary says so. The Parquet file of the
// segment has it once.
func TestLineTwice(t *testing.T) {
	for what, again := range map[string]func(head, lines [][]byte) [][]byte{
		"none":       func(head, lines [][]byte) [][]byte { return append(head, lines...) },
		"the last":   func(head, lines [][]byte) [][]byte { return append(append(head, lines...), lines[4]) },
		"the first":  func(head, lines [][]byte) [][]byte { return append(append(head, lines...), lines[0]) },
		"all, twice": func(head, lines [][]byte) [][]byte { return append(append(append(head, lines...), lines...), lines...) },
	} {
		folder, path, want := openLog(t, 5)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
		lines[6] = append(lines[6], '\n')
		text = bytes.Join(again(lines[:2:2], lines[2:]), nil)
		more := bytes.Count(text, []byte("\n")) - 7
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		check := func(form string, repeated int) {
			t.Helper()
			list, l := readAll(t, folder)
			if c := l.Counts(); len(list) != 5 || c.Records != 5 || c.Repeated != repeated || c.Unmatched != 0 || c.Outcomes != 0 {
				t.Errorf("%s, %s: %d records, %+v", what, form, len(list), c)
			}
			for n, d := range list {
				if plain(d.Record) != plain(want[n]) {
					t.Errorf("%s, %s: record %d differs", what, form, n)
				}
			}
			s, err := Summarize(folder)
			if err != nil || s.Read.Repeated != repeated || s.Policies[0].Records != 5 {
				t.Errorf("%s, %s: %+v, %v", what, form, s, err)
			}
		}
		check("lines", more)
		w := openTest(t, folder, quick(), testPolicy(2, 2, 4))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(strings.TrimSuffix(path, linesEnding) + parquetEnding); err != nil {
			t.Fatal(err)
		}
		check("Parquet", 0)
		if err := os.Remove(strings.TrimSuffix(path, linesEnding) + indexEnding); err != nil {
			t.Fatal(err)
		}
		check("Parquet without an index", 0)
	}
}

// Parquet that has a decision twice, as earlier versions wrote it, counts it once too.
func TestParquetTwice(t *testing.T) {
	folder, path, _ := openLog(t, 3)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if err := os.WriteFile(path, append(text, lines[3]...), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &segment{folder: folder, stream: decisions, number: 1, lines: true}
	sp, _, err := spanOf(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.writeIndex(sp); err != nil {
		t.Fatal(err)
	}
	if err := writeParquet(s, false); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if list, l := readAll(t, folder); len(list) != 3 || l.Counts().Repeated != 1 {
		t.Errorf("%d records, %+v", len(list), l.Counts())
	}
}

// An outcome that stands twice is none of a decision that the log does not have, and no conflict.
func TestOutcomeTwice(t *testing.T) {
	folder, _, want := openLog(t, 3)
	text := appendHead(nil, outcomes, 1)
	add := func(o Outcome) {
		t.Helper()
		var err error
		if text, err = appendOutcome(text, &o); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		add(Outcome{ID: want[0].ID, Loss: number(1)})
	}
	add(Outcome{ID: want[1].ID, Loss: number(1)})
	add(Outcome{ID: want[1].ID, Loss: number(2)})
	add(Outcome{ID: NewID(), Loss: number(2)})
	if err := os.WriteFile(filepath.Join(folder, "outcomes-00000001.jsonl"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	_, l := readAll(t, folder)
	if c := l.Counts(); c.Outcomes != 2 || c.Repeated != 1 || c.Conflicts != 1 || c.Unmatched != 1 {
		t.Errorf("%+v", c)
	}
}
