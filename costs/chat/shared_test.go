package chat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pipe/internal/digest"
	"pipe/internal/storage"
)

func sharedFolder(t *testing.T) *storage.Folder {
	t.Helper()
	f, err := storage.OpenFolder(t.Context(), t.TempDir())
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
	most := b.ledger.slice * 0.9 // a slice is enough for one request
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
		s.shared = &sharedAnswers{folder}
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
	late := func() (answer, error) { // b is faster
		_, _, err := b.once(t.Context(), request, ask(request))
		return answer{Request: request, Text: "late"}, err
	}
	got, _, err := a.once(t.Context(), request, late)
	if err != nil || got.Text == "late" {
		t.Errorf("%q, %v", got.Text, err)
	}
	if err := folder.WriteFile(context.Background(), (&sharedAnswers{}).name(request), []byte("{}"), storage.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	var damaged *damagedError
	if _, _, err := open().once(t.Context(), request, late); !errors.As(err, &damaged) {
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
	s.shared = &sharedAnswers{folder}
	a, fresh, err := s.once(t.Context(), request, nil)
	if err != nil || fresh || a.Text != "paid" {
		t.Errorf("%+v, %v", a, err)
	}
}
