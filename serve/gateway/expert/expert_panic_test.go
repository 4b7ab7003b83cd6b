package expert

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"pipe/serve/gateway/gatewaytest"
)

// faulty is a context in which the program has a fault once a request is sent.
type faulty struct {
	context.Context
	once *sync.Once
}

func (f faulty) Value(key any) any {
	sent := strings.Contains(string(debug.Stack()), "net/http.(*Client)")
	first := false
	if sent {
		f.once.Do(func() { first = true })
	}
	if first {
		panic("a fault of the program")
	}
	return f.Context.Value(key)
}

// A panic within a call leaves nothing of it behind: the next call has its place.
func TestPanicEndsItsCall(t *testing.T) {
	f := gatewaytest.New(t)
	s := settings(f.Base())
	s.Concurrency = 1
	e := open(t, s, DefaultBreaker())
	func() {
		defer func() {
			if p := recover(); p != "a fault of the program" {
				t.Errorf("panic %v", p)
			}
		}()
		_, _ = e.Call(faulty{t.Context(), new(sync.Once)}, request(t, ""), nil, nil)
	}()
	if a, err := e.Call(t.Context(), request(t, ""), nil, nil); err != nil || a.Status != http.StatusOK {
		t.Error(a, err)
	}
}
