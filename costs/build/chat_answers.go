package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pipe/costs"
)

// answer is an answer as it is kept: whatever it cost, at whichever prices.
type answer struct {
	Request          string    `json:"request"` // digest of all that it depends on
	Text             string    `json:"text"`
	PromptTokens     int       `json:"prompt_tokens"`
	CompletionTokens int       `json:"completion_tokens"`
	Estimated        bool      `json:"estimated,omitempty"` // the tokens, which the service did not count
	Time             time.Time `json:"time"`
	Check            string    `json:"check"` // CRC-32 of the line without it
}

// answerStore keeps answers in a file of a folder, a line each, which is on disk
// before anybody uses the answer. The folder is opened, and locked against other
// processes, when the first answer is wanted.
type answerStore struct {
	folder string

	mu      sync.Mutex // of everything but disk
	lock    *lock
	file    *os.File
	kept    map[string]answer
	open    map[string]*question // asked, and not yet answered
	written int64                // lines of this run
	broken  error                // of a write: what is in the file is not known

	disk   sync.Mutex
	synced int64 // lines of this run that are on disk
}

// question is what several may wait for.
type question struct {
	answered chan struct{}
	answer   answer
	err      error
}

func newAnswerStore(folder string) *answerStore {
	return &answerStore{folder: folder, open: make(map[string]*question)}
}

// once returns the answer to a request. The first who wants it asks; others wait
// for the same answer. fresh says that this call asked.
func (s *answerStore) once(ctx context.Context, request string, ask func() (answer, error)) (_ answer, fresh bool, err error) {
	s.mu.Lock()
	if err := s.ready(); err != nil {
		s.mu.Unlock()
		return answer{}, false, err
	}
	if a, ok := s.kept[request]; ok {
		s.mu.Unlock()
		return a, false, nil
	}
	q, asked := s.open[request]
	if !asked {
		q = &question{answered: make(chan struct{})}
		s.open[request] = q
	}
	s.mu.Unlock()
	if asked {
		select {
		case <-q.answered:
			return q.answer, false, q.err
		case <-ctx.Done():
			return answer{}, false, ctx.Err()
		}
	}
	if q.answer, q.err = ask(); q.err == nil {
		q.err = s.keep(q.answer)
	}
	s.mu.Lock()
	if q.err == nil {
		s.kept[request] = q.answer
	}
	delete(s.open, request)
	s.mu.Unlock()
	close(q.answered)
	return q.answer, true, q.err
}

// keep writes an answer and returns when it is on disk. Whoever waits for the
// disk brings the lines of all who wait behind along.
func (s *answerStore) keep(a answer) error {
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

// line is the answer as a line of the file.
func (a answer) line() ([]byte, error) {
	a.Check = ""
	b, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	a.Check = fmt.Sprintf("%08x", crc32.ChecksumIEEE(b))
	b, err = json.Marshal(a)
	return append(b, '\n'), err
}

// readAnswer reads a line back.
func readAnswer(line []byte) (answer, error) {
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return a, err
	}
	again, err := a.line()
	if err == nil && !bytes.Equal(again, line) {
		err = errors.New("its checksum is wrong")
	}
	return a, err
}

const answersName = "answers.jsonl"

// answersHead is the first line of the file: what it is, and in which version.
const answersHead = `{"format":"pipe answers 1"}` + "\n"

// ready opens the folder, if that is not done yet.
func (s *answerStore) ready() error {
	if s.file != nil {
		return nil
	}
	err := s.start()
	if err != nil {
		err = errors.Join(fmt.Errorf("folder of answers: %w", err), s.close())
	}
	return err
}

func (s *answerStore) start() (err error) {
	if err := os.MkdirAll(s.folder, 0o777); err != nil {
		return err
	}
	if s.lock, err = takeLock(filepath.Join(s.folder, lockName)); err != nil {
		if errors.Is(err, errInUse) {
			err = &inUseError{s.folder}
		}
		return err
	}
	if s.file, err = os.OpenFile(filepath.Join(s.folder, answersName), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	whole, err := s.load()
	if err != nil {
		return err
	}
	if err := s.file.Truncate(whole); err != nil {
		return err
	}
	if _, err := s.file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if whole == 0 {
		if _, err := s.file.WriteString(answersHead); err != nil {
			return err
		}
	}
	return errors.Join(s.file.Sync(), syncFolder(s.folder))
}

// load reads the answers and returns where the last whole line ends. A line
// without an end was being written when a process was killed: nobody has used it.
func (s *answerStore) load() (whole int64, err error) {
	b, err := io.ReadAll(s.file)
	if err != nil {
		return 0, err
	}
	s.kept = make(map[string]answer)
	row := 0
	for line := range bytes.Lines(b) {
		if line[len(line)-1] != '\n' {
			break
		}
		if row++; row == 1 {
			if string(line) != answersHead {
				return 0, &costs.DataError{File: s.file.Name(), Row: 1, Msg: "this is no file of answers, or one of another version"}
			}
		} else {
			a, err := readAnswer(line)
			if err != nil {
				return 0, &damagedError{costs.DataError{File: s.file.Name(), Row: row, Msg: "the answer is damaged", Err: err}}
			}
			s.kept[a.Request] = a
		}
		whole += int64(len(line))
	}
	return whole, nil
}

// Close gives the folder back.
func (s *answerStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.close()
}

func (s *answerStore) close() (err error) {
	if s.file != nil {
		err = s.file.Close()
		s.file = nil
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.release())
		s.lock = nil
	}
	return err
}

// damagedError is about a line of the file of answers that somebody, or a disk,
// has changed. It is an error, since asking again costs money.
type damagedError struct{ costs.DataError }

// Unwrap tells that it is bad data.
func (e *damagedError) Unwrap() error { return &e.DataError }

// Hint tells the way out.
func (e *damagedError) Hint() string {
	return "put the line back from a copy, or remove it: its answer is then asked for again"
}

// inUseError says that another build has the folder of answers.
type inUseError struct{ folder string }

func (e *inUseError) Error() string { return fmt.Sprintf("%q: %v", e.folder, errInUse) }

// Unwrap returns errInUse.
func (e *inUseError) Unwrap() error { return errInUse }

// Hint tells the way out.
func (e *inUseError) Hint() string { return "wait for it, or name another folder with --answers" }
