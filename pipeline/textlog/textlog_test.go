package textlog

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/pipeline/decisionlog"
)

type upper struct{}

func (upper) Redact(text string) string { return strings.ToUpper(text) }

// Texts are read back by id, redacted by patterns and then by the hook; only their owner can read the files.
func TestTexts(t *testing.T) {
	s := DefaultSettings()
	s.Folder, s.Redact, s.MaxText = config.Path(t.TempDir()+"/texts"), []string{`[\w.]+@[\w.]+`, `\d{4,}`}, 100
	w, err := Open(s, upper{}, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if !w.Add(Entry{"d1", "r1", 5, "Mail ann@example.com, code 123456\n\u2028\x00 $1"}) || !w.Add(Entry{"d2", "r2", 6, ""}) || w.Add(Entry{"d3", "r3", 7, strings.Repeat("x", 101)}) {
		t.Error("kept another way")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Add(Entry{"d4", "r4", 8, "late"}) || w.Close() != nil {
		t.Error("kept after the end")
	}
	files, err := list(string(s.Folder))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	file, err := os.Stat(files[0])
	folder, err2 := os.Stat(string(s.Folder))
	if err != nil || err2 != nil || file.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
		t.Error(file.Mode(), folder.Mode())
	}
	text, _ := os.ReadFile(files[0])
	if bytes.Contains(bytes.ToLower(text), []byte("ann")) || bytes.Contains(text, []byte("123456")) {
		t.Errorf("%s", text)
	}
	if err := os.WriteFile(files[0], append(text, `{"id":"d9","te`...), 0o600); err != nil { // a kill
		t.Fatal(err)
	}
	got, err := Read(string(s.Folder))
	if err != nil || len(got.ByID) != 2 || got.Damaged != 1 || got.ByID["d1"] != "MAIL [REDACTED], CODE [REDACTED]\n\u2028\x00 $1" {
		t.Errorf("%+v, %v", got, err)
	}
	panel := &decisionlog.Record{ID: "d7", Request: "r2", Source: decisionlog.SourcePanel}
	if text, ok := got.Of(panel); !ok || text != "" {
		t.Error(text, ok)
	}
	if _, ok := got.Of(&decisionlog.Record{ID: "d7", Request: "r2"}); ok {
		t.Error("another decision has the text of its request")
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no files") {
		t.Error(err)
	}
}

// Files are closed when they are large, and the oldest are removed.
func TestTextsAreBounded(t *testing.T) {
	s := DefaultSettings()
	s.Folder, s.FileBytes, s.KeepBytes = config.Path(t.TempDir()), 1<<10, 4<<10
	for i := range 20 { // each writer opens new files
		w, err := Open(s, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Add(Entry{fmt.Sprint("d", i), "", int64(i), strings.Repeat("x", 1000)})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(string(s.Folder))
	if err != nil || len(got.ByID) != 3 || got.ByID["d19"] == "" || got.ByID["d17"] == "" {
		t.Errorf("%d texts are left, %v", len(got.ByID), err)
	}
}

// What waits is bounded, whoever adds.
func TestPendingTextsAreBounded(t *testing.T) {
	s := DefaultSettings()
	s.Folder, s.MaxText = config.Path(t.TempDir()), 4<<20
	w, err := Open(s, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { w.Add(Entry{fmt.Sprint(i), "", 0, strings.Repeat("x", 4<<20)}) })
	}
	all.Wait()
	w.lock.Lock()
	if n := len(w.pending); n > maxPending {
		t.Errorf("%d bytes wait", n)
	}
	w.lock.Unlock()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBadSettings(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"redact[0]":  func(s *Settings) { s.Redact = []string{"("} },
		"max_text":   func(s *Settings) { s.MaxText = 0 },
		"file_bytes": func(s *Settings) { s.FileBytes = 1 },
		"keep_bytes": func(s *Settings) { s.KeepBytes = 1 },
		"keep_age":   func(s *Settings) { s.KeepAge = -time.Second },
		"folder":     func(s *Settings) { s.Folder = "s3://bucket/texts" },
	} {
		s := DefaultSettings()
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// FuzzRead: lines are read or counted as damaged.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"id\":\"a\",\"time\":1,\"text\":\"x\"}\n{\"id\":7}\n\n{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		texts := &Texts{ByID: map[string]string{}, ByRequest: map[string]string{}}
		if err := texts.read(bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(b, []byte("\n")) + 1; len(texts.ByID)+texts.Damaged > lines {
			t.Fatalf("%d texts and %d damaged of %d lines", len(texts.ByID), texts.Damaged, lines)
		}
	})
}
