// Package advice fetches the advice of a chat request, such as passages of a search index, and writes the message that
// shows it to the expert. The text that was found is untrusted: it goes into a message of its own, between two marker
// lines that it cannot contain. The gateway has one [Advice] for each advice of its configuration.
package advice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"pipe/costs/prompt"
	"pipe/experts/fields"
	"pipe/internal/config"
	"pipe/internal/textfile"
	"pipe/serve/gateway/chatjson"
)

// Advice fetches one kind of advice. It is safe for concurrent use.
type Advice struct {
	Name     string
	cfg      Settings
	template *prompt.Template
	text     string // of a file
	finder   finder // nil: none is needed
}

// finder searches for passages, in an index file or with a search service.
type finder interface {
	find(ctx context.Context, query string, top int) ([]passage, error)
	close() error
}

// Open opens the files of the settings, which must be valid. note is called with messages for the log: about waits, and
// about secrets that are sent unencrypted. The caller closes the advice.
func Open(name string, s Settings, note func(format string, args ...any)) (*Advice, error) {
	a := &Advice{Name: name, cfg: s}
	var err error
	switch s.Kind {
	case KindNone, KindFields:
		return a, nil
	case KindFile:
		a.text, err = readText(s.File)
	case KindBM25:
		a.finder, err = openIndex(s.Index)
	case KindSearch:
		a.finder, err = openService(&s, note)
	}
	if err != nil {
		return nil, err
	}
	if a.template, err = s.template(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// readText reads the text of a file, which must be UTF-8 and not empty.
func readText(path config.Path) (string, error) {
	text, err := textfile.ReadFileAt(context.Background(), path.Location(), maxBytes)
	switch {
	case err != nil:
		return "", err
	case !utf8.Valid(text):
		return "", fmt.Errorf("read %q: is not UTF-8 text", path)
	case strings.TrimSpace(string(text)) == "":
		return "", fmt.Errorf("read %q: the file is empty", path)
	}
	return string(text), nil
}

// Close frees what was opened. It waits for running searches.
func (a *Advice) Close() error {
	if a.finder == nil {
		return nil
	}
	return a.finder.close()
}

// maxQuery is the longest query in bytes. A longer text is truncated, which a search by words tolerates.
const maxQuery = 16 << 10

// Fetch returns the message that shows the advice for a question, or the fields that it sets, and the number of passages in the
// message. It is nil if nothing is shown: the kind is none, or nothing was found.
func (a *Advice) Fetch(ctx context.Context, question string) (*chatjson.Addition, int, error) {
	if set := a.Sets(); set != nil {
		return &chatjson.Addition{Fields: set}, 0, nil
	}
	if a.template == nil {
		return nil, 0, nil
	}
	var found []passage
	if a.finder != nil {
		ctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
		defer cancel()
		var err error
		if found, err = a.finder.find(ctx, truncate(question, maxQuery), a.cfg.Top); err != nil {
			return nil, 0, a.fault(err)
		}
		if len(found) == 0 {
			return nil, 0, nil
		}
	}
	for i := range found {
		found[i].text = truncate(found[i].text, a.cfg.Bytes)
	}
	text, err := render(a.template, boundary(question, found), question, a.text, found)
	if err != nil {
		return nil, 0, a.fault(err)
	}
	return &chatjson.Addition{Role: a.cfg.Role, Text: text, At: a.cfg.Position}, len(found), nil
}

// Sets is what the advice sets in requests; nil: it sets no fields.
func (a *Advice) Sets() *fields.Set {
	if a.cfg.Kind != KindFields {
		return nil
	}
	return a.cfg.set()
}

// Error means that advice could not be fetched.
type Error struct {
	Name   string
	Msg    string // the problem in words, without text from a service
	Detail string // text of the service, without secrets; it may quote the conversation
	cause  error
}

// Error describes the problem without text from a service.
func (e *Error) Error() string { return "advice " + e.Name + ": " + e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// fault makes an Error.
func (a *Advice) fault(err error) *Error {
	e := &Error{Name: a.Name, Msg: "could not be fetched", Detail: err.Error(), cause: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Msg = fmt.Sprintf("was not found within %v", a.cfg.Timeout)
	}
	return e
}
