package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// growingFiles writes tables and makes tensors of them: old.parquet and new.parquet.
func growingFiles(t *testing.T, folder string) {
	t.Helper()
	const rows, columns = 3000, 120
	for i, name := range []string{"old", "new"} {
		var b strings.Builder
		b.WriteString("id,a,b")
		for c := range columns {
			fmt.Fprintf(&b, ",x%d", c)
		}
		for n := range rows {
			fmt.Fprintf(&b, "\n%s-%d,%d,%d", name, n, n%2, n%3)
			for c := range columns {
				fmt.Fprintf(&b, ",%d", n*c%7)
			}
		}
		config := "outcomes: {file: " + name + ".csv, columns: {id: id}, wide: {value: loss, pairs: [{expert: a, column: a}, {expert: b, column: b}]}}\n" +
			"features: [{id: id, columns: [\"x*\"]}]\nfeature_name: numbers\n"
		for file, text := range map[string]string{name + ".csv": b.String(), name + ".yaml": config} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		p := start(t, folder, nil, "import", "--config", name+".yaml", "--out", name+".parquet")
		if err := <-p.ended; err != nil {
			t.Fatal(i, err, p.stderr.String())
		}
	}
}

// A tensor that is grown is the old one or the new one, whenever the program is killed. What a killed run leaves has a
// hidden name, and goes with the next run.
func TestKilledGrowthLeavesTheOldTensor(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"append": {"import", "--config", "new.yaml", "--out", "costs.parquet", "--append"},
		"merge":  {"merge", "old.parquet", "new.parquet", "--out", "costs.parquet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			growingFiles(t, folder)
			path := func(name string) string { return filepath.Join(folder, name) }
			old := readAll(t, path("old.parquet"))
			reset := func() {
				if err := os.WriteFile(path("costs.parquet"), old, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			reset()
			if p := start(t, folder, nil, args...); <-p.ended != nil {
				t.Fatal(p.stderr.String())
			}
			complete := readAll(t, path("costs.parquet"))
			reset()
			halfway := 0
			for i := range 6 {
				if killedWhileWriting(t, folder, time.Duration(i)*3*time.Millisecond, args) {
					halfway++
				}
				switch now := readAll(t, path("costs.parquet")); {
				case bytes.Equal(now, complete):
					reset()
				case !bytes.Equal(now, old):
					t.Fatal("the tensor is neither the old one nor the new one")
				}
			}
			if halfway == 0 {
				t.Error("no run was killed while it wrote")
			}
			if p := start(t, folder, nil, args...); <-p.ended != nil {
				t.Fatal(p.stderr.String())
			}
			if !bytes.Equal(readAll(t, path("costs.parquet")), complete) || len(hidden(folder)) > 0 {
				t.Errorf("after the last run: hidden files %v", hidden(folder))
			}
		})
	}
}

// killedWhileWriting kills a run some time after its temporary file appeared, and reports whether one was left.
func killedWhileWriting(t *testing.T, folder string, later time.Duration, args []string) bool {
	t.Helper()
	before := hidden(folder)
	p := start(t, folder, nil, args...)
	for {
		select {
		case <-p.ended:
			return false
		case <-time.After(time.Millisecond):
		}
		if now := hidden(folder); len(now) > 0 && !slices.Equal(now, before) {
			break
		}
	}
	time.Sleep(later)
	p.send(t, syscall.SIGKILL)
	<-p.ended
	return len(hidden(folder)) > 0
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
