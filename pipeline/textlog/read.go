package textlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"pipe/pipeline/decisionlog"
)

// Texts are the texts of decisions.
type Texts struct {
	ByID      map[string]string
	ByRequest map[string]string // of requests; of a request with several texts one of them
	Damaged   int               // lines that could not be read, such as one that a kill left half written
}

// Of returns the text of a decision. That of an answer of a panel is the one of its request.
func (t *Texts) Of(r *decisionlog.Record) (text string, ok bool) {
	if r.IsPanel() {
		text, ok = t.ByRequest[r.Request]
		return text, ok
	}
	text, ok = t.ByID[r.ID]
	return text, ok
}

// longest bounds a line: a text of the largest size, escaped.
const longest = 6*maxPending/2 + 1024

// Read reads all texts of a folder into memory.
func Read(folder string) (*Texts, error) {
	files, err := list(folder)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%q has no files %s*%s of a log of texts", folder, prefix, suffix)
	}
	t := &Texts{ByID: make(map[string]string), ByRequest: make(map[string]string)}
	for _, file := range files {
		if err := t.readFile(file); err != nil {
			return nil, fmt.Errorf("%q: %w", file, err)
		}
	}
	return t, nil
}

func (t *Texts) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return t.read(f)
}

func (t *Texts) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.ID == "" {
			t.Damaged++
			continue
		}
		t.ByID[e.ID], t.ByRequest[e.Request] = e.Text, e.Text
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line has more than %d bytes", longest)
	}
	return lines.Err()
}
