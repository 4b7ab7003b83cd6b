package decideapi

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/serve/decision"
)

// TestLargeBodies checks that 100 MB are refused after a little has been read, whether the length is announced or not.
func TestLargeBodies(t *testing.T) {
	o := defaults()
	o.api.Body = 1 << 20
	w := newWorld(t, o)
	for _, announced := range []bool{true, false} {
		sent := &counter{r: io.LimitReader(endless{}, 100<<20)}
		r, err := http.NewRequest("POST", w.server.URL+"/v1/decide", io.NopCloser(sent))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if announced {
			r.ContentLength = 100 << 20
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil { // the server closed the connection while the client was sending
			if sent.total() > 40<<20 {
				t.Errorf("announced %v: %v after %d bytes", announced, err, sent.total())
			}
			continue
		}
		if status, got := read(t, resp); status != 413 || sent.total() > 40<<20 {
			t.Errorf("announced %v: %d %v after %d bytes", announced, status, got, sent.total())
		}
	}
}

// endless is white space without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// counter counts what is read.
type counter struct {
	r  io.Reader
	mu sync.Mutex
	n  int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	return n, err
}

func (c *counter) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// TestDeepNesting checks that an error about nested values does not repeat the whole path to them.
func TestDeepNesting(t *testing.T) {
	w := newWorld(t, defaults())
	for _, body := range []string{`{"messages": `, `{"features": `, `{"prices": `, `{"nope": `} {
		status, got := w.post(t, "/v1/decide", body+strings.Repeat("[", 200_000))
		if text := fmt.Sprint(got); status != 400 || len(text) > 400 || !strings.Contains(text, "invalid") && !strings.Contains(text, "unknown") {
			t.Errorf("%s: %d, %d bytes: %.300s", body, status, len(text), text)
		}
	}
}

// TestSlowAndCutBodies checks bodies that stall or end early: others are served meanwhile, and the client gets an error.
func TestSlowAndCutBodies(t *testing.T) {
	w := newWorld(t, defaults())
	head := "POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{\"features\": ["
	var stalled []net.Conn
	for range 50 {
		c, err := net.Dial("tcp", w.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		stalled = append(stalled, c)
	}
	if got := w.decide(t, `{"features": [1,2,3,4,5,6]}`); len(got.Decisions) != 1 {
		t.Errorf("%+v", got)
	}
	for _, c := range stalled { // the client ends its half: the body is cut
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c)
		if err != nil || len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
			t.Fatalf("%q, %v", answer, err)
		}
	}
}

// TestManyAtOnce sends requests of all kinds from many goroutines, with exploration, shadows and a log: for the race
// detector. Every decision gets an outcome.
func TestManyAtOnce(t *testing.T) {
	o := defaults()
	o.decision.Explore.Epsilon = 0.3
	o.decision.Shadow = []decision.Shadow{{Policy: "fixed"}}
	o.decision.Canary = []decision.Canary{{Policy: "fixed", Share: 0.5}}
	w := newWorld(t, o)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 20 {
				body := inJSON(t, map[string]any{"features": numbers(uint64(g*100+i), 1+i%3), "user": fmt.Sprint(i)})
				if i%4 == 0 {
					body = strings.Replace(body, `{`, `{"unavailable": {"experts": ["c"]},`, 1)
				}
				got := w.decide(t, body)
				for _, d := range got.Decisions {
					if status, answer := w.post(t, "/v1/outcomes", fmt.Sprintf(`{"id": %q, "correct": true}`, d.ID)); status != 200 {
						t.Errorf("%d %v", status, answer)
					}
				}
				if status, _ := w.post(t, "/v1/decide", `{"features": [1,2]}`); status != 422 {
					t.Errorf("a wrong request gets %d", status)
				}
			}
		})
	}
	group.Wait()
	if n := w.log.Stats().Outcomes; n != 8*(7*1+7*2+6*3) {
		t.Errorf("%d outcomes", n)
	}
}
