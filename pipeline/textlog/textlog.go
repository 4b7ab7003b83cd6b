// Package textlog keeps the texts on which policies decided, beside the decision log and by the ids of its decisions, so that old
// traffic can be encoded anew. Texts are personal data: files are for their owner alone, patterns are redacted before anything is
// written, and the oldest files are removed.
package textlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"pipe/internal/config"
)

// Settings of a log of texts. Without a folder there is none.
type Settings struct {
	Folder    config.Path   `yaml:"folder"`     // is created if it is not there
	Redact    []string      `yaml:"redact"`     // regular expressions (RE2); what they match is replaced by [redacted]
	MaxText   int           `yaml:"max_text"`   // bytes; a longer text is not kept
	FileBytes int64         `yaml:"file_bytes"` // a file is closed when it is larger
	KeepBytes int64         `yaml:"keep_bytes"` // most bytes of all files; the oldest are removed
	KeepAge   time.Duration `yaml:"keep_age"`   // the oldest age of a file; 0: no bound
}

// DefaultSettings keep at most 10 GB.
func DefaultSettings() Settings {
	return Settings{MaxText: 256 << 10, FileBytes: 64 << 20, KeepBytes: 10e9}
}

// Validate reports every problem.
func (s Settings) Validate() error {
	var p config.Problems
	for i, pattern := range s.Redact {
		_, err := regexp.Compile(pattern)
		p.Check(err == nil && pattern != "", "redact[%d]: %q is not a regular expression: %v", i, pattern, err)
	}
	p.Check(s.MaxText >= 1 && s.MaxText <= maxPending/2, "max_text is %d; it is 1 to %d", s.MaxText, maxPending/2)
	p.Check(s.FileBytes >= 1<<10 && s.FileBytes <= 1<<32, "file_bytes is %d; it is 1024 to %d", s.FileBytes, int64(1<<32))
	p.Check(s.KeepBytes >= s.FileBytes, "keep_bytes is %d; it is at least file_bytes", s.KeepBytes)
	p.Check(s.KeepAge >= 0, "keep_age is %v; it is at least 0", s.KeepAge)
	if s.Folder != "" {
		p.Add(config.Under("folder", s.Folder.CheckLocal()))
	}
	return p.Err()
}

// Redactor replaces what must not be kept in a text. It may be called at the same time.
type Redactor interface{ Redact(text string) string }

// Entry is the text of a decision.
type Entry struct {
	ID      string `json:"id"`
	Request string `json:"request"` // its id
	Time    int64  `json:"time"`    // microseconds since 1970, UTC
	Text    string `json:"text"`
}

// Limits of a writer.
const (
	maxPending = 16 << 20    // bytes that wait for the disk; more are dropped
	flushEvery = time.Second // what a kill can lose
)

// Writer keeps texts. It is safe for concurrent use.
type Writer struct {
	settings Settings
	patterns []*regexp.Regexp
	redactor Redactor
	failed   func(error)
	lock     sync.Mutex
	pending  []byte // guarded by lock
	closed   bool   // guarded by lock
	file     *os.File
	size     int64
	stop     chan struct{}
	done     sync.WaitGroup
}

// Open makes the folder and begins. redactor sees texts after the patterns; nil: none. failed is called with errors of writing; the
// texts are lost then.
func Open(s Settings, redactor Redactor, failed func(error)) (*Writer, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	w := &Writer{settings: s, redactor: redactor, failed: failed, stop: make(chan struct{})}
	for _, pattern := range s.Redact {
		w.patterns = append(w.patterns, regexp.MustCompile(pattern)) // checked
	}
	if err := os.MkdirAll(string(s.Folder), 0o700); err != nil {
		return nil, err
	}
	w.done.Go(w.run)
	return w, nil
}

// Add keeps the text of a decision, redacted. It does not wait. kept is false if the text is too long, if too many wait, and after
// Close.
func (w *Writer) Add(e Entry) (kept bool) {
	text := e.Text
	if len(text) > w.settings.MaxText {
		return false
	}
	for _, p := range w.patterns {
		text = p.ReplaceAllLiteralString(text, "[redacted]")
	}
	if w.redactor != nil {
		text = w.redactor.Redact(text)
	}
	e.Text = text
	line, err := json.Marshal(e)
	w.lock.Lock()
	defer w.lock.Unlock()
	if err != nil || w.closed || len(w.pending)+len(line) >= maxPending {
		return false
	}
	w.pending = append(append(w.pending, line...), '\n')
	return true
}

func (w *Writer) run() {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
			if err := w.flush(); err != nil && w.failed != nil {
				w.failed(err)
			}
		}
	}
}

// flush writes what waits. Only one call runs at a time.
func (w *Writer) flush() error {
	w.lock.Lock()
	text := w.pending
	w.pending = nil
	w.lock.Unlock()
	if len(text) == 0 {
		return nil
	}
	if w.file == nil {
		name := prefix + time.Now().UTC().Format("20060102T150405.000000000") + suffix
		var err error
		if w.file, err = os.OpenFile(filepath.Join(string(w.settings.Folder), name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			w.file = nil
			return err
		}
		w.size = 0
	}
	n, err := w.file.Write(text)
	if w.size += int64(n); err == nil {
		err = w.file.Sync()
	}
	if err == nil && w.size < w.settings.FileBytes {
		return nil
	}
	err = errors.Join(err, w.file.Close()) // after an error the next file begins with a whole line
	w.file = nil
	return errors.Join(err, w.retain())
}

// The names of files, which are in order of time.
const (
	prefix = "texts-"
	suffix = ".jsonl"
)

// retain removes the oldest files, as far as the settings bound the log.
func (w *Writer) retain() error {
	files, err := list(string(w.settings.Folder))
	if err != nil {
		return err
	}
	total := int64(0)
	var errs []error
	for _, file := range slices.Backward(files) {
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		total += info.Size()
		if old := w.settings.KeepAge; total > w.settings.KeepBytes || old > 0 && time.Since(info.ModTime()) > old {
			errs = append(errs, os.Remove(file))
		}
	}
	return errors.Join(errs...)
}

// list are the files of a folder, the oldest first.
func list(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			files = append(files, filepath.Join(folder, name))
		}
	}
	return files, nil // ReadDir sorts
}

// Close writes what waits and ends.
func (w *Writer) Close() error {
	w.lock.Lock()
	before := w.closed
	w.closed = true
	w.lock.Unlock()
	if before {
		return nil
	}
	close(w.stop)
	w.done.Wait()
	err := w.flush()
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	if err != nil {
		return fmt.Errorf("log of texts: %w", err)
	}
	return nil
}
