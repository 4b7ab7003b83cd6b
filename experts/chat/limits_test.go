package chat

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"pipe/experts/chat/chattest"
	"pipe/experts/language"
	"pipe/experts/service"
	"pipe/experts/service/servicetest"
)

func many(n int) []language.Conversation {
	var list []language.Conversation
	for i := range n {
		list = append(list, say("Claim %d.", i))
	}
	return list
}

// Parts that pay from one account share its limits, the strictest that any of
// them names.
func TestLimitsAreShared(t *testing.T) {
	server := chattest.NewServer(t)
	s := chatSetup(t, 0)
	one := newChat(t, s, server.Settings(map[string]any{"requests_per_second": 40, "model": "a"}))
	two := newChat(t, s, server.Settings(map[string]any{"requests_per_second": 1000, "model": "b"}))
	begin := time.Now()
	var wg sync.WaitGroup
	for _, c := range []Model{one, two} {
		wg.Go(func() {
			if _, err := c.Complete(t.Context(), many(10)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(begin); took < 19*25*time.Millisecond {
		t.Errorf("20 requests at 40 per second took %v", took)
	}
}

func TestConcurrencyIsHeld(t *testing.T) {
	server := chattest.NewServer(t)
	server.Delay = 20 * time.Millisecond
	c := newChat(t, chatSetup(t, 0), server.Settings(map[string]any{"concurrency": 3}))
	var wg sync.WaitGroup
	for i := range 3 { // as many shards ask at once
		wg.Go(func() {
			if _, err := c.Complete(t.Context(), many(10*(i+1))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if server.Most() != 3 {
		t.Errorf("%d requests at a time, want 3", server.Most())
	}
	if all, distinct := server.Answers(); all != 30 || distinct != 30 {
		t.Errorf("%d answers to %d questions, want 30", all, distinct)
	}
}

// A run never spends more than its budget, ends when nothing more fits, and the
// next one goes on.
func TestBudgetIsHeld(t *testing.T) {
	server := chattest.NewServer(t)
	server.Delay = time.Millisecond
	price := map[string]any{"prompt": 1000, "completion": 10_000} // an answer: 100 x 0.001 + 5 x 0.01
	const money = 0.15
	folder := t.TempDir()
	spend := func(limit float64) (texts []Completion, spent float64, err error) {
		s := chatSetup(t, limit)
		session(t, s).store.folder = folder
		c := newChat(t, s, server.Settings(map[string]any{"price": price, "max_tokens": 6, "fee_scale": 2, "concurrency": 5}))
		texts, err = c.Complete(t.Context(), many(20))
		return texts, session(t, s).run.Of([]string{"chat"})[0].Spent, errors.Join(err, session(t, s).store.Close())
	}
	_, spent, err := spend(1)
	var over *BudgetError
	if !errors.As(err, &over) || spent > 1 || spent != over.Spent {
		t.Fatalf("spent %v: %v", spent, err)
	}
	if over.Spent+over.Next <= over.Budget {
		t.Errorf("it would have fitted: %+v", over)
	}
	first, _ := server.Answers()
	if math.Abs(float64(first)*money-spent) > 1e-9 {
		t.Errorf("%d answers, spent %v", first, spent)
	}
	got, rest, err := spend(10)
	if err != nil {
		t.Fatal(err)
	}
	if all, distinct := server.Answers(); all != 20 || distinct != 20 {
		t.Errorf("%d answers were paid for, of %d questions", all, distinct)
	}
	if math.Abs(spent+rest-20*money) > 1e-9 {
		t.Errorf("spent %v and %v, want %v", spent, rest, 20*money)
	}
	if slices.ContainsFunc(got, func(c Completion) bool { return math.Abs(c.Fee-2*money) > 1e-9 }) {
		t.Errorf("fees %v, want %v", got, 2*money)
	}
	if _, nothing, err := spend(1e-9); err != nil || nothing != 0 {
		t.Errorf("answers that are kept cost %v, %v", nothing, err)
	}
}

// Money that may be gone with a lost answer counts as spent.
func TestLostAnswersCountAsSpent(t *testing.T) {
	server := chattest.NewServer(t)
	server.Fault = servicetest.Once(servicetest.Cut("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + half))
	s := chatSetup(t, 1)
	c := newChat(t, s, server.Settings(map[string]any{"price": map[string]any{"prompt": 0, "completion": 1000}, "max_tokens": 64}))
	if _, err := c.Complete(t.Context(), many(1)); err != nil {
		t.Fatal(err)
	}
	if spent, want := session(t, s).money.spent, (64+5)*0.001; fmt.Sprintf("%.6f", spent) != fmt.Sprintf("%.6f", want) {
		t.Errorf("spent %v, want %v", spent, want)
	}
}

func TestTokensThatNobodyCounted(t *testing.T) {
	server := chattest.NewServer(t)
	server.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		fmt.Fprint(w, `{"choices":[{"message":{"content":"12345678"}}]}`)
		return true
	}
	s := chatSetup(t, 0)
	plain := newChat(t, s, server.Settings(nil))
	if got, err := plain.Complete(t.Context(), []language.Conversation{say("0123456789")}); err != nil || got[0].Fee != 0 {
		t.Fatalf("got %v, %v", got, err)
	}
	priced := map[string]any{"price": map[string]any{"prompt": 1e6, "completion": 1e6}}
	_, err := newChat(t, s, server.Settings(priced)).Complete(t.Context(), []language.Conversation{say("0123456789")})
	var fault *service.Error
	if !errors.As(err, &fault) || fault.Hint() == "" {
		t.Errorf("a price without tokens: %v", err)
	}
	priced["estimate_tokens"] = true
	got, err := newChat(t, s, server.Settings(priced)).Complete(t.Context(), []language.Conversation{say("0123456789")})
	if err != nil || got[0].Fee != (10/4+1)+(8/4+1) {
		t.Errorf("got %v, %v", got, err)
	}
	if n := server.Requests(); n != 1 {
		t.Errorf("%d requests: a price is no reason to ask again", n)
	}
}
