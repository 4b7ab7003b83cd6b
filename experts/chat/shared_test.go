package chat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipe/internal/digest"
	"pipe/internal/hint"
	"pipe/internal/storage"
)

func sharedFolder(t *testing.T) *storage.Folder {
	t.Helper()
	f, err := storage.File(t.TempDir()).Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Workers at the same folder never spend more than the budget together, also where some are killed; what workers give
// back can be spent by later ones, and a larger budget goes on.
func TestLedger(t *testing.T) {
	const budget, price = 1.0, 0.003
	folder := sharedFolder(t)
	var spent atomic.Int64 // thousandths
	work := func(budget float64, requests int, killed bool) {
		b := newBudget(budget)
		if err := b.Share(t.Context(), folder); err != nil {
			t.Error(err)
			return
		}
		for range requests {
			err := b.reserve(t.Context(), price)
			var over *BudgetError
			if errors.As(err, &over) {
				break
			}
			if err != nil {
				t.Error(err)
				return
			}
			cost := 1 + rand.Int64N(3)
			spent.Add(cost)
			b.settle(price, float64(cost)/1000)
		}
		if !killed {
			if err := b.Return(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() { work(budget, 40, i%3 == 0) })
	}
	group.Wait()
	for range 3 {
		work(budget, 10_000, false)
	}
	if s := spent.Load(); s > 1000 || s < 950 {
		t.Errorf("%d of 1000 were spent", s)
	}
	work(2*budget, 10_000, false)
	if s := spent.Load(); s > 2000 || s < 1900 {
		t.Errorf("%d of 2000 were spent", s)
	}
}

// Callers that grow the part of their worker at the same time never find a budget used up of which most is left.
func TestLedgerOfManyCallers(t *testing.T) {
	b := newBudget(100)
	if err := b.Share(t.Context(), sharedFolder(t)); err != nil {
		t.Fatal(err)
	}
	most := b.ledger.Slice() * 0.9 // a slice is enough for one request
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 60 {
				if err := b.reserve(t.Context(), most); err != nil {
					t.Error(err)
					return
				}
				b.settle(most, most/100)
			}
		})
	}
	group.Wait()
}

// Two workers share answers: the second asks nothing, and where both ask at once both use the first answer.
func TestSharedAnswers(t *testing.T) {
	folder := sharedFolder(t)
	open := func() *answerStore {
		s := newAnswerStore("")
		s.shared = newSharedAnswers(folder, time.Minute)
		return s
	}
	var asked atomic.Int64
	ask := func(request string) func() (answer, error) {
		return func() (answer, error) {
			return answer{Request: request, Text: fmt.Sprint("answer ", asked.Add(1))}, nil
		}
	}
	a, b := open(), open()
	for i := range 20 {
		request := digest.Of([]byte{byte(i)})
		first, fresh, err := a.once(t.Context(), request, ask(request))
		if err != nil || !fresh {
			t.Fatal(err)
		}
		second, fresh, err := b.once(t.Context(), request, ask(request))
		if err != nil || fresh || second.Text != first.Text {
			t.Fatalf("%q, %q, %v", first.Text, second.Text, err)
		}
		if _, kept, err := open().peek(t.Context(), request); err != nil || !kept {
			t.Error(err)
		}
	}
	request := digest.Of(nil)
	if _, _, err := a.once(t.Context(), request, ask(request)); err != nil {
		t.Fatal(err)
	}
	if err := folder.WriteFile(context.Background(), objectOf(request), []byte("{}"), storage.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	var damaged *hint.Error
	if _, _, err := open().once(t.Context(), request, ask(request)); !errors.As(err, &damaged) {
		t.Error(err)
	}
}

// The file of answers of a run on one machine counts, too.
func TestSharedAnswersOfOneMachine(t *testing.T) {
	folder := sharedFolder(t)
	one := newAnswerStore(folder.String())
	request := digest.Of([]byte("x"))
	if _, _, err := one.once(t.Context(), request, func() (answer, error) { return answer{Request: request, Text: "paid"}, nil }); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	s := newAnswerStore("")
	s.shared = newSharedAnswers(folder, time.Minute)
	a, fresh, err := s.once(t.Context(), request, nil)
	if err != nil || fresh || a.Text != "paid" {
		t.Errorf("%+v, %v", a, err)
	}
}

// workersAt are stores of several workers at one folder.
func workersAt(t *testing.T, folder *storage.Folder, n int, lease time.Duration) []*answerStore {
	t.Helper()
	list := make([]*answerStore, n)
	for i := range list {
		list[i] = newAnswerStore("")
		list[i].shared = newSharedAnswers(folder, lease)
		t.Cleanup(func() {
			if err := list[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return list
}

// leftovers are the objects of a folder that are no answers.
func leftovers(t *testing.T, folder *storage.Folder) (names []string) {
	t.Helper()
	for _, prefix := range []string{"asking/", "workers/"} {
		for info, err := range folder.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, info.Name)
		}
	}
	return names
}

// Workers in lock-step ask for nothing twice, and leave no claims.
func TestOneWorkerAsks(t *testing.T) {
	folder := sharedFolder(t)
	var asked atomic.Int64
	workers := append(workersAt(t, folder, 3, time.Minute), workersAt(t, folder, 1, 0)...)
	var group sync.WaitGroup
	for _, w := range workers {
		for i := range 30 {
			group.Go(func() {
				request := digest.Of([]byte{byte(i)})
				a, _, err := w.once(t.Context(), request, func() (answer, error) {
					time.Sleep(5 * time.Millisecond)
					return answer{Request: request, Text: fmt.Sprint(i, asked.Add(1))}, nil
				})
				if err != nil || a.Request != request {
					t.Error(a, err)
				}
			})
		}
	}
	group.Wait()
	if n := asked.Load(); n != 30 {
		t.Errorf("30 answers were asked for %d times", n)
	}
	for _, w := range workers {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if names := leftovers(t, folder); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// A worker that fails gives way at once; one that is lost, after the lease; and its own late answer does not count.
func TestClaimsOfTheLost(t *testing.T) {
	folder := sharedFolder(t)
	const lease = 200 * time.Millisecond // and a second, which times of stores may be wrong by
	workers := workersAt(t, folder, 3, lease)
	request := digest.Of(nil)
	answered := func(text string) func() (answer, error) {
		return func() (answer, error) { return answer{Request: request, Text: text}, nil }
	}
	failed := errors.New("the service fails")
	if _, _, err := workers[0].once(t.Context(), request, func() (answer, error) { return answer{}, failed }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	begun, late := make(chan struct{}), make(chan answer)
	go func() {
		a, _, err := workers[1].once(t.Context(), request, func() (answer, error) {
			close(begun)
			time.Sleep(3 * time.Second)
			return answer{Request: request, Text: "late"}, nil
		})
		if err != nil {
			t.Error(err)
		}
		late <- a
	}()
	start := time.Now()
	<-begun
	if wait := time.Since(start); wait > lease {
		t.Errorf("after a failure the next worker waited %v", wait)
	}
	lost := workers[1].shared.claims // it hangs: no signs of life any more
	if err := lost.end(); err != nil {
		t.Fatal(err)
	}
	if err := folder.WriteFile(t.Context(), "workers/"+lost.worker, nil, storage.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	a, fresh, err := workers[2].once(t.Context(), request, answered("in time"))
	if err != nil || !fresh || a.Text != "in time" {
		t.Errorf("%+v, %v, %v", a, fresh, err)
	}
	if wait := time.Since(start); wait < lease || wait > 3*time.Second {
		t.Errorf("a lost worker was waited for %v", wait)
	}
	if a := <-late; a.Text != "in time" {
		t.Errorf("%+v: two workers use different answers", a)
	}
}

// A sign of life from far ahead is of a storage whose clock was set back since: nobody waits for that time to come.
func TestClaimFromTheFuture(t *testing.T) {
	work := t.TempDir()
	folder, err := storage.File(work).Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := newClaims(folder, time.Second)
	t.Cleanup(func() {
		if err := c.end(); err != nil {
			t.Error(err)
		}
	})
	if err := c.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, ahead := range map[string]time.Duration{"now": 0, "later": time.Hour} {
		if err := folder.WriteFile(t.Context(), "workers/"+name, nil, storage.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(ahead)
		if err := os.Chtimes(filepath.Join(work, "workers", name), at, at); err != nil {
			t.Fatal(err)
		}
		if alive, err := c.alive(t.Context(), name); err != nil || alive != (ahead == 0) {
			t.Errorf("%s: alive %v, %v", name, alive, err)
		}
	}
}
