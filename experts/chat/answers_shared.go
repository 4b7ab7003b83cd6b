package chat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
)

// sharedAnswers keeps answers for many workers: an object ab/DIGEST.json each, named by its request, in a folder that all
// reach. The first answer to a request stays, so that all workers use the same.
type sharedAnswers struct {
	folder *storage.Folder
	claims *claims
}

func newSharedAnswers(folder *storage.Folder, lease time.Duration) *sharedAnswers {
	return &sharedAnswers{folder, newClaims(folder, lease)}
}

// mostAnswer is the largest object of an answer in bytes.
const mostAnswer = 16 << 20

// How long a worker waits for the answer of another before it looks again: twice as long each time.
const (
	firstWait = 20 * time.Millisecond
	mostWait  = time.Second
)

// nameOf is the beginning of the names of what belongs to a request, which is a digest.
func nameOf(request string) string {
	digits := strings.TrimPrefix(request, "sha256:")
	return digits[:min(2, len(digits))] + "/" + digits
}

func objectOf(request string) string { return nameOf(request) + ".json" }

// once returns the answer to a request. One of all workers asks; fresh says that it was this one.
func (s *sharedAnswers) once(ctx context.Context, request string, ask func() (answer, error)) (_ answer, fresh bool, err error) {
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		a, kept, err := s.get(ctx, request)
		if kept || err != nil {
			return a, false, err
		}
		claim, err := s.claims.take(ctx, request)
		if err != nil {
			return answer{}, false, fmt.Errorf("claim a request: %w", err)
		}
		if claim != "" {
			return s.ask(ctx, claim, request, ask)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer{}, false, ctx.Err()
		}
	}
}

// ask asks for what is claimed, unless it was answered before the claim.
func (s *sharedAnswers) ask(ctx context.Context, claim, request string, ask func() (answer, error)) (_ answer, fresh bool, err error) {
	a, kept, err := s.get(ctx, request)
	if !kept && err == nil {
		fresh = true
		if a, err = ask(); err == nil {
			a, err = s.put(ctx, a)
		}
	}
	// The answer counts also where its claim stays.
	if dropped := s.claims.drop(ctx, claim, err == nil); dropped != nil && err != nil {
		err = errors.Join(err, dropped)
	}
	return a, fresh, err
}

// get returns the answer to a request, if there is one.
func (s *sharedAnswers) get(ctx context.Context, request string) (a answer, kept bool, err error) {
	name := objectOf(request)
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
		return answer{}, false, errDamaged(costs.DataError{File: s.folder.Location(name).String(), Msg: "the answer is damaged", Err: err})
	}
	return a, true, nil
}

// put keeps an answer, and returns the one that is kept: that of another worker, if it was first. An answer that is paid
// for is kept also where ctx has ended.
func (s *sharedAnswers) put(ctx context.Context, a answer) (answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	a.tidy()
	line, err := a.line()
	if err != nil {
		return answer{}, err
	}
	err = s.folder.WriteFile(ctx, objectOf(a.Request), line, storage.WriteOptions{IfNotExist: true})
	if errors.Is(err, fs.ErrExist) {
		first, kept, err := s.get(ctx, a.Request)
		if err == nil && !kept {
			err = errors.New("an answer was removed from the folder while it was in use")
		}
		return first, err
	}
	if err != nil {
		err = fmt.Errorf("keep answer: %w", err)
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
	_, err = readAnswers(in, s.folder.Location(AnswersFile).String(), take)
	return err
}
