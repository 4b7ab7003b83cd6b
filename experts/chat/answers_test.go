package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/hint"
)

// keepAnswers writes answers into a folder and returns their file.
func keepAnswers(t *testing.T, folder string, texts ...string) string {
	t.Helper()
	s := newAnswerStore(folder)
	for i, text := range texts {
		request := fmt.Sprint("r", i)
		_, fresh, err := s.once(t.Context(), request, func() (answer, error) { return answer{Request: request, Text: text}, nil })
		if err != nil || !fresh {
			t.Fatalf("fresh %v, %v", fresh, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, AnswersFile)
}

// reread returns the answers of a folder, and "?" where one is requested again.
func reread(folder string, n int) (texts []string, err error) {
	s := newAnswerStore(folder)
	for i := range n {
		request := fmt.Sprint("r", i)
		a, _, err := s.once(context.Background(), request, func() (answer, error) { return answer{Request: request, Text: "?"}, nil })
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		texts = append(texts, a.Text)
	}
	return texts, s.Close()
}

func TestAnswersAreKept(t *testing.T) {
	texts := []string{"SUPPORTS", "", "two\nlines", "quote \" and é \u2028 <b>", strings.Repeat("long ", 50_000)}
	folder := filepath.Join(t.TempDir(), "deep", "answers")
	keepAnswers(t, folder, texts...)
	got, err := reread(folder, len(texts))
	if err != nil || fmt.Sprint(got) != fmt.Sprint(texts) {
		t.Errorf("got %.200q, %v", got, err)
	}
}

// A text that is not UTF-8 is the same in the run that asked for it and in the next.
func TestAnswersAreUTF8(t *testing.T) {
	folder := t.TempDir()
	keepAnswers(t, folder, "cut \xe2\x82")
	if got, err := reread(folder, 1); err != nil || got[0] != "cut \ufffd" {
		t.Errorf("%q, %v", got, err)
	}
}

// A file that ends anywhere is a file of the answers that are whole; the others
// are requested again, and then the file is whole.
func TestTornAnswersAreAskedForAgain(t *testing.T) {
	whole := readText(t, keepAnswers(t, t.TempDir(), "a", "b", "c"))
	for size := range len(whole) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, AnswersFile), []byte(whole[:size]), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := reread(folder, 3)
		kept := max(0, strings.Count(whole[:size], "\n")-1)
		if want := append([]string{"a", "b", "c"}[:kept:kept], []string{"?", "?", "?"}[kept:]...); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%d of %d bytes: got %q, %v", size, len(whole), got, err)
		}
		if again, err := reread(folder, 3); err != nil || fmt.Sprint(again) != fmt.Sprint(got) {
			t.Fatalf("%d of %d bytes, opened again: got %q, %v", size, len(whole), again, err)
		}
	}
}

// Any byte that is changed within the file is noticed, with the line.
func TestDamagedAnswersAreErrors(t *testing.T) {
	whole := readText(t, keepAnswers(t, t.TempDir(), "alpha", "beta"))
	for at := range len(whole) - 1 {
		if whole[at] == '\n' {
			continue
		}
		folder := t.TempDir()
		damaged := whole[:at] + string(whole[at]^1) + whole[at+1:]
		if err := os.WriteFile(filepath.Join(folder, AnswersFile), []byte(damaged), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := reread(folder, 2)
		var bad *costs.DataError
		if row := 1 + strings.Count(whole[:at], "\n"); !errors.As(err, &bad) || bad.Row != row {
			t.Fatalf("byte %d: %v", at, err)
		}
		var h interface{ Hint() string }
		if bad.Row > 1 && (!errors.As(err, &h) || !strings.Contains(h.Hint(), "requested again")) {
			t.Errorf("byte %d: no way out: %v", at, err)
		}
	}
}

func TestAnswersAreLocked(t *testing.T) {
	folder := t.TempDir()
	s := newAnswerStore(folder)
	ask := func() (answer, error) { return answer{Request: "r0"}, nil }
	if _, _, err := s.once(t.Context(), "r0", ask); err != nil {
		t.Fatal(err)
	}
	_, err := reread(folder, 1)
	var used *hint.Error
	if !errors.As(err, &used) || !strings.Contains(used.Hint(), "--answers") {
		t.Errorf("a second store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := reread(folder, 1); err != nil {
		t.Error(err)
	}
}

// Concurrent requests for one answer share a single call and its error; the next
// request asks again.
func TestTheSameQuestionIsAskedOnce(t *testing.T) {
	s := newAnswerStore(t.TempDir())
	defer s.Close()
	for _, fail := range []error{errors.New("broken"), nil} {
		var asked, fresh atomic.Int32
		var wg sync.WaitGroup
		gate := make(chan struct{})
		for range 20 {
			wg.Go(func() {
				a, first, err := s.once(t.Context(), "r", func() (answer, error) {
					asked.Add(1)
					<-gate
					return answer{Request: "r", Text: "x"}, fail
				})
				if first {
					fresh.Add(1)
				}
				if !errors.Is(err, fail) || err == nil && a.Text != "x" {
					t.Errorf("got %+v, %v", a, err)
				}
			})
		}
		for asked.Load() == 0 {
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := s.once(ctx, "r", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that was cancelled: %v", err)
		}
		close(gate)
		wg.Wait()
		// Goroutines that come after a fault ask for themselves.
		if n := asked.Load(); n != fresh.Load() || fail == nil && n != 1 {
			t.Errorf("asked %d times, %d answers are fresh", n, fresh.Load())
		}
	}
}

// Answers that many wait for at once are all on disk when they are used.
func TestManyAnswersAtOnce(t *testing.T) {
	folder := t.TempDir()
	s := newAnswerStore(folder)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			request := fmt.Sprint("r", i)
			if _, _, err := s.once(t.Context(), request, func() (answer, error) { return answer{Request: request, Text: request}, nil }); err != nil {
				t.Error(err)
			}
			if !strings.Contains(readText(t, filepath.Join(folder, AnswersFile)), `"text":"`+request+`"`) {
				t.Errorf("%s is used before it is kept", request)
			}
		})
	}
	wg.Wait()
	if s.synced != 200 {
		t.Errorf("%d lines are on disk", s.synced)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := reread(folder, 200); err != nil || strings.Contains(strings.Join(got, " "), "?") {
		t.Errorf("%v: %v", got, err)
	}
}

// A disk that takes no more is an error of every answer from then on.
func TestAnswersThatCannotBeKept(t *testing.T) {
	s := newAnswerStore(t.TempDir())
	defer s.Close()
	ask := func() (answer, error) { return answer{Request: "r"}, nil }
	if _, _, err := s.once(t.Context(), "r", ask); err != nil {
		t.Fatal(err)
	}
	s.file.Close()
	for range 2 {
		if _, _, err := s.once(t.Context(), "other", ask); err == nil || !strings.Contains(err.Error(), "keep answer") {
			t.Errorf("got %v", err)
		}
	}
}

// Whoever waits for an answer whose asker is interrupted asks for it.
func TestAnInterruptedQuestionIsAskedAgain(t *testing.T) {
	s := newAnswerStore(t.TempDir())
	defer s.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	asked, waited := make(chan struct{}), make(chan error)
	go func() {
		<-asked
		a, fresh, err := s.once(t.Context(), "r", func() (answer, error) { return answer{Request: "r", Text: "x"}, nil })
		if err == nil && (a.Text != "x" || !fresh) {
			err = fmt.Errorf("got %+v, fresh %t", a, fresh)
		}
		waited <- err
	}()
	_, _, err := s.once(ctx, "r", func() (answer, error) {
		close(asked)
		time.Sleep(20 * time.Millisecond) // the other one waits, or comes later: the answer is the same
		interrupt()
		return answer{}, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	if err := <-waited; err != nil {
		t.Errorf("the one who waits: %v", err)
	}
}
