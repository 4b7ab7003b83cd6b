package chat

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"pipe/costs"
	"pipe/internal/storage"
)

// sharedAnswers keeps answers for many workers: an object each, named by its request, in a folder that all reach. The
// first answer to a request stays, so that all workers use the same.
type sharedAnswers struct{ folder *storage.Folder }

// mostAnswer is the largest object of an answer in bytes.
const mostAnswer = 16 << 20

// name is that of the object of a request, which is a digest.
func (s *sharedAnswers) name(request string) string {
	digits := strings.TrimPrefix(request, "sha256:")
	return digits[:min(2, len(digits))] + "/" + digits + ".json"
}

// get returns the answer to a request, if there is one.
func (s *sharedAnswers) get(ctx context.Context, request string) (a answer, kept bool, err error) {
	name := s.name(request)
	line, err := s.folder.ReadFile(ctx, name, mostAnswer)
	if errors.Is(err, fs.ErrNotExist) {
		return answer{}, false, nil
	}
	if err != nil {
		return answer{}, false, err
	}
	if a, err = readAnswer(line); err == nil && a.Request != request {
		err = errors.New("it answers another request")
	}
	if err != nil {
		return answer{}, false, &damagedError{costs.DataError{File: storage.Join(s.folder.String(), name), Msg: "the answer is damaged", Err: err}}
	}
	return a, true, nil
}

// put keeps an answer, and returns the one that is kept: that of another worker, if it was first.
func (s *sharedAnswers) put(ctx context.Context, a answer) (answer, error) {
	line, err := a.line()
	if err != nil {
		return answer{}, err
	}
	err = s.folder.WriteFile(ctx, s.name(a.Request), line, storage.WriteOptions{IfNotExist: true})
	if errors.Is(err, fs.ErrExist) {
		first, kept, err := s.get(ctx, a.Request)
		if err == nil && !kept {
			err = errors.New("an answer was removed from the folder while it was in use")
		}
		return first, err
	}
	return a, err
}

// load reads the file of answers that a run on one machine has left in the folder.
func (s *sharedAnswers) load(ctx context.Context, take func(answer)) error {
	in, err := s.folder.Read(ctx, AnswersFile, 0, -1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = readAnswers(in, storage.Join(s.folder.String(), AnswersFile), take)
	return err
}
