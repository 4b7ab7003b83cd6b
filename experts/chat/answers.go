package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"pipe/internal/filelock"
)

// answer is a stored answer. It holds tokens, not money, so that prices may change.
type answer struct {
	Request          string    `json:"request"` // digest of everything it depends on
	Text             string    `json:"text"`
	PromptTokens     int       `json:"prompt_tokens"`
	CompletionTokens int       `json:"completion_tokens"`
	CachedTokens     *int      `json:"cached_tokens,omitempty"` // of the prompt; nil: the service did not say
	Estimated        bool      `json:"estimated,omitempty"`     // the service did not count the tokens
	Truncated        bool      `json:"truncated,omitempty"`     // the limit on tokens ended the text
	ToolCall         bool      `json:"tool_call,omitempty"`     // the model called a tool: the text is empty
	Finish           string    `json:"finish,omitempty"`        // why the text ends, as the service says; "": not known, as of answers that earlier programs kept
	LogProb          *float64  `json:"logprob,omitempty"`       // natural logarithm of the text's probability; nil: the service did not say
	Time             time.Time `json:"time"`
	Check            string    `json:"check"` // CRC-32 of the line without this field
}

// answerStore stores answers in a file of a folder, one per line. An answer is
// on disk before it is used. The folder is opened, and locked against other
// processes, when the first answer is requested.
type answerStore struct {
	folder string
	shared *sharedAnswers // keeps the answers instead of the folder, for many workers; nil: one worker

	mu      sync.Mutex // guards everything but disk
	lock    *filelock.Lock
	file    *os.File
	kept    map[string]answer
	open    map[string]*question // sent, and not yet answered
	written int64                // lines of this run
	broken  error                // error of a write; the content of the file is then unknown

	disk   sync.Mutex
	synced int64 // lines of this run that are on disk
}

// question is a request for which several callers may wait.
type question struct {
	answered chan struct{}
	answer   answer
	err      error
}

// settled is the channel of questions that are already answered.
var settled = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func newAnswerStore(folder string) *answerStore {
	return &answerStore{folder: folder, open: make(map[string]*question)}
}

// once returns the answer to a request. The first caller asks; others wait for
// its answer or its error. If the first caller is interrupted, one of the
// others asks. fresh reports that this call asked.
func (s *answerStore) once(ctx context.Context, request string, ask func() (answer, error)) (_ answer, fresh bool, err error) {
	for {
		q, first, err := s.question(ctx, request)
		if err != nil {
			return answer{}, false, err
		}
		if first {
			fresh = s.settle(ctx, request, q, ask)
			return q.answer, fresh, q.err
		}
		select {
		case <-q.answered:
			if !errors.Is(q.err, context.Canceled) {
				return q.answer, false, q.err
			}
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			return answer{}, false, err
		}
	}
}

// peek returns a kept answer.
func (s *answerStore) peek(ctx context.Context, request string) (a answer, kept bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return answer{}, false, err
	}
	if a, kept = s.kept[request]; !kept && s.shared != nil {
		return s.shared.get(ctx, request)
	}
	return a, kept, nil
}

// question returns the entry of a request: its answer, or that another call is
// asking. first says that the caller must ask.
func (s *answerStore) question(ctx context.Context, request string) (q *question, first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, false, err
	}
	if a, ok := s.kept[request]; ok {
		return &question{answered: settled, answer: a}, false, nil
	}
	q, asked := s.open[request]
	if !asked {
		q = &question{answered: make(chan struct{})}
		s.open[request] = q
	}
	return q, !asked, nil
}

// settle asks, stores the answer and wakes the waiting callers. fresh is false if another worker has asked.
func (s *answerStore) settle(ctx context.Context, request string, q *question, ask func() (answer, error)) (fresh bool) {
	fresh = true
	if s.shared != nil {
		q.answer, fresh, q.err = s.shared.once(ctx, request, ask)
	} else if q.answer, q.err = ask(); q.err == nil {
		q.answer.tidy()
		q.err = s.append(q.answer)
	}
	s.mu.Lock()
	if q.err == nil {
		s.kept[request] = q.answer
	}
	delete(s.open, request)
	s.mu.Unlock()
	close(q.answered)
	return fresh
}

// tidy makes the text one that is the same after it was stored: JSON holds only UTF-8.
func (a *answer) tidy() { a.Text = strings.ToValidUTF8(a.Text, "\ufffd") }

// append writes an answer and returns when it is on disk. One sync covers the
// lines of all waiting callers.
func (s *answerStore) append(a answer) error {
	line, err := a.line()
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.broken == nil {
		_, s.broken = s.file.Write(line)
		s.written++
	}
	mine, err := s.written, s.broken
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	if s.synced >= mine {
		return nil
	}
	s.mu.Lock()
	all := s.written
	s.mu.Unlock()
	if err := s.file.Sync(); err != nil {
		s.mu.Lock()
		s.broken = err
		s.mu.Unlock()
		return fmt.Errorf("keep answer: %w", err)
	}
	s.synced = all
	return nil
}

// Close releases the folder.
func (s *answerStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.close()
}

func (s *answerStore) close() (err error) {
	if s.shared != nil {
		err = s.shared.claims.end()
	}
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
		s.file = nil
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Release())
		s.lock = nil
	}
	return err
}
