package chat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/filelock"
	"pipe/internal/hint"
	"pipe/internal/textfile"
)

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

// maxTokens is the largest plausible token count of one request. No model reads
// or writes as much, and sums of such counts stay exact.
const maxTokens = 1_000_000_000

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
	counts := []int{a.PromptTokens, a.CompletionTokens}
	if a.CachedTokens != nil {
		counts = append(counts, *a.CachedTokens, a.PromptTokens-*a.CachedTokens)
	}
	if err == nil && a.LogProb != nil && !(*a.LogProb <= 0) {
		err = fmt.Errorf("it claims a log-probability of %v", *a.LogProb)
	}
	for _, tokens := range counts {
		if err == nil && (tokens < 0 || tokens > maxTokens) {
			err = fmt.Errorf("it claims %d tokens", tokens)
		}
	}
	return a, err
}

// The files of a folder of answers.
const (
	// AnswersFile holds the answers, a line of JSON each.
	AnswersFile = "answers.jsonl"
	answersLock = "lock"
)

// answersHead is the first line of the file: its type and version.
const answersHead = `{"format":"pipe answers 1"}` + "\n"

// ready opens the folder unless it is open.
func (s *answerStore) ready(ctx context.Context) (err error) {
	if s.shared != nil {
		err = s.startShared(ctx)
	} else if s.file == nil {
		err = s.start()
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("folder of answers: %w", err), s.close())
	}
	return err
}

// startShared reads what is kept in a file of the shared folder; other answers are read one by one.
func (s *answerStore) startShared(ctx context.Context) error {
	if s.kept != nil {
		return nil
	}
	kept := make(map[string]answer)
	err := s.shared.load(ctx, func(a answer) { kept[a.Request] = a })
	if err == nil {
		s.kept = kept
	}
	return err
}

func (s *answerStore) start() (err error) {
	if _, err := atomicfile.MkdirAll(s.folder); err != nil {
		return err
	}
	if s.lock, err = filelock.Take(filepath.Join(s.folder, answersLock)); err != nil {
		if used, ok := errors.AsType[*filelock.InUseError](err); ok {
			err = hint.With(used, "wait for it, or name another folder with --answers")
		}
		return err
	}
	if s.file, err = os.OpenFile(filepath.Join(s.folder, AnswersFile), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
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
	return errors.Join(s.file.Sync(), atomicfile.SyncFolder(s.folder))
}

// load reads the answers and returns the end of the last complete line.
func (s *answerStore) load() (whole int64, err error) {
	s.kept = make(map[string]answer)
	return readAnswers(s.file, s.file.Name(), func(a answer) { s.kept[a.Request] = a })
}

// readAnswers reads a file of answers and returns the end of the last complete line. An incomplete line was left by a
// killed process and was never used.
func readAnswers(in io.Reader, file string, take func(answer)) (whole int64, err error) {
	row := 0
	whole, err = wholeLines(in, func(line []byte) error {
		if row++; row == 1 {
			if string(line) != answersHead {
				return &costs.DataError{File: file, Row: 1, Msg: "this is not a file of answers, or it has another version"}
			}
			return nil
		}
		a, err := readAnswer(line)
		if err != nil {
			return errDamaged(costs.DataError{File: file, Row: row, Msg: "the answer is damaged", Err: err})
		}
		take(a)
		return nil
	})
	if errors.Is(err, errLongLine) {
		err = errDamaged(costs.DataError{File: file, Row: row + 1, Err: err})
	}
	return whole, err
}

// errDamaged is about a damaged answer, perhaps from a failing disk. It stops the build, since asking again costs money.
func errDamaged(at costs.DataError) error {
	return hint.With(&at, "restore the line from a copy, or remove it: its answer is then requested again")
}

// errLongLine is the error of a line longer than this program writes.
var errLongLine = fmt.Errorf("the line is longer than %d MiB", textfile.MaxLine>>20)

// wholeLines calls take for every line that ends with a newline, newline included, and returns the end of the last one.
// Anything after it was left by a killed process. A line is valid until take returns. A line of more than
// textfile.MaxLine bytes gives errLongLine.
func wholeLines(in io.Reader, take func(line []byte) error) (whole int64, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	var long []byte // a line that is longer than the reader's buffer
	for {
		line, err := r.ReadSlice('\n')
		if len(long)+len(line) > textfile.MaxLine {
			return whole, errLongLine
		}
		if err != nil || len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return whole, nil
		case err != nil:
			return whole, err
		}
		if err := take(line); err != nil {
			return whole, err
		}
		whole, long = whole+int64(len(line)), long[:0]
	}
}
