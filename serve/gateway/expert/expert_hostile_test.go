package expert

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pipe/serve/gateway/gatewaytest"
)

// raw is a service that reads the head of a request and then writes what it likes. It returns its base URL.
func raw(t *testing.T, answer func(w io.Writer, closed <-chan struct{})) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buffer, closed := make([]byte, 64<<10), make(chan struct{})
				if _, err := c.Read(buffer); err != nil {
					return
				}
				go func() {
					_, _ = io.Copy(io.Discard, c)
					close(closed)
				}()
				answer(c, closed)
				if t, ok := c.(*net.TCPConn); ok {
					_ = t.CloseWrite()
				}
				<-closed
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/v1"
}

// forever repeats a text until the client leaves.
func forever(text string) func(io.Writer, <-chan struct{}) {
	text = strings.Repeat(text, 1+8192/len(text))
	return func(w io.Writer, _ <-chan struct{}) {
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
}

// once writes a text; after it the connection ends.
func once(text string) func(io.Writer, <-chan struct{}) {
	return func(w io.Writer, _ <-chan struct{}) { _, _ = io.WriteString(w, text) }
}

// then writes a text, and goes on as another one says.
func then(text string, next func(io.Writer, <-chan struct{})) func(io.Writer, <-chan struct{}) {
	return func(w io.Writer, closed <-chan struct{}) {
		_, _ = io.WriteString(w, text)
		next(w, closed)
	}
}

// stalls waits for the client to leave.
func stalls(_ io.Writer, closed <-chan struct{}) { <-closed }

// zipped is a text as gzip.
func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// TestHostileServices: whatever a service sends ends in time, as an answer or a failure with a reason, and leaves nothing running.
func TestHostileServices(t *testing.T) {
	const (
		head   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
		chunks = head + "Transfer-Encoding: chunked\r\n\r\n"
		fine   = `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`
		first  = `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n"
		stop   = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`
	)
	sized := func(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }
	cr := strings.ReplaceAll(first+stop+"\n\n", "\n", "\r")
	crlf := strings.ReplaceAll(first+stop+"\n\n", "\n", "\r\n")
	for name, c := range map[string]struct {
		stream bool
		answer func(io.Writer, <-chan struct{})
		want   string // label of the failure before the first content; "": an answer
		end    string // of a stream: label of the failure after it; "": it ends well
	}{
		"endless head":                  {false, then("HTTP/1.1 200 OK\r\n", forever("X-A: b\r\n")), "cut", ""},
		"endless line of the head":      {true, then("HTTP/1.1 200 OK\r\nX-A: ", forever("bbbbbbbbbbbbbbbb")), "cut", ""},
		"endless status line":           {false, then("HTTP/1.1 200 ", forever("bbbbbbbbbbbbbbbb")), "cut", ""},
		"endless 103":                   {false, forever("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"), "cut", ""},
		"endless 100":                   {true, forever("HTTP/1.1 100 Continue\r\n\r\n"), "cut", ""},
		"a few 103":                     {false, once(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 3) + head + sized(fine)), "", ""},
		"101":                           {false, then("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", stalls), "cut", ""},
		"101, then noise":               {true, then("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", forever("x")), "cut", ""},
		"204":                           {false, once("HTTP/1.1 204 No Content\r\n\r\n"), "status_204", ""},
		"206":                           {false, once("HTTP/1.1 206 Partial Content\r\n" + sized(fine)), "status_206", ""},
		"304":                           {false, once("HTTP/1.1 304 Not Modified\r\n\r\n"), "redirect", ""},
		"300 without place":             {false, once("HTTP/1.1 300 Multiple Choices\r\n" + sized("")), "redirect", ""},
		"999":                           {false, once("HTTP/1.1 999 Denied\r\n" + sized("no")), "status_999", ""},
		"000":                           {false, once("HTTP/1.1 000 Nothing\r\n" + sized("no")), "status_0", ""},
		"HTTP 1.0":                      {false, once("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + fine), "", ""},
		"HTTP 0.9":                      {false, once(fine), "cut", ""},
		"too short a length":            {false, once(head + "Content-Length: 10\r\n\r\n" + fine), "invalid", ""},
		"too long a length":             {false, once(head + "Content-Length: 1000\r\n\r\n" + fine), "cut", ""},
		"a negative length":             {false, once(head + "Content-Length: -1\r\n\r\n" + fine), "cut", ""},
		"two lengths":                   {false, once(head + "Content-Length: 64\r\nContent-Length: 65\r\n\r\n" + fine), "cut", ""},
		"a length and chunks":           {false, once(head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n" + fine + "\r\n0\r\n\r\n"), "", ""},
		"two answers":                   {false, once(head + sized(fine) + head + sized(`{"choices":[{"message":{"content":"b"}}]}`)), "", ""},
		"a wrong size of a chunk":       {false, once(chunks + "zz\r\n" + fine), "cut", ""},
		"a huge size of a chunk":        {false, once(chunks + "ffffffffffffffff\r\n" + fine), "cut", ""},
		"endless extension of a chunk":  {false, then(chunks+"40;a=", forever("bbbbbbbb")), "cut", ""},
		"a trailer":                     {false, once(head + "Trailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n" + fine + "\r\n0\r\nX-T: 1\r\nSet-Cookie: a=b\r\n\r\n"), "", ""},
		"endless trailer":               {false, then(chunks+"40\r\n"+fine+"\r\n0\r\n", forever("X-T: b\r\n")), "cut", ""},
		"gzip, cut":                     {false, once(head + "Content-Encoding: gzip\r\n" + sized(zipped(fine)[:30])), "cut", ""},
		"gzip, a wrong sum":             {false, once(head + "Content-Encoding: gzip\r\n" + sized(zipped(fine)[:len(zipped(fine))-8]+"12345678")), "cut", ""},
		"gzip, then noise":              {false, once(head + "Content-Encoding: gzip\r\n" + sized(zipped(fine)+"noise")), "cut", ""},
		"gzip of many parts":            {false, once(head + "Content-Encoding: gzip\r\n" + sized(strings.Repeat(zipped(strings.Repeat(" ", 1000)), 100))), "too_large", ""},
		"gzip of nothing, many times":   {false, then(head+"Content-Encoding: gzip\r\n\r\n", forever(zipped(""))), "timeout", ""},
		"gzip twice":                    {false, once(head + "Content-Encoding: gzip, gzip\r\n" + sized(zipped(zipped(fine)))), "encoding", ""},
		"gzip, in capitals":             {false, once(head + "Content-Encoding: GZIP\r\n" + sized(zipped(fine))), "", ""},
		"gzip, then nothing":            {false, then(head+"Content-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n", stalls), "timeout", ""},
		"gzip with an endless name":     {false, then(head+"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03", forever("name")), "cut", ""},
		"deep JSON":                     {false, once(head + sized(`{"choices":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`}`)), "invalid", ""},
		"a list of choices of numbers":  {false, once(head + sized(`{"choices":[`+strings.Repeat("0,", 20000)+`0]}`)), "invalid", ""},
		"many keys":                     {false, once(head + sized(`{"choices":[{"message":{`+keys(3000)+`}}]}`)), "", ""},
		"a byte order mark":             {false, once(head + sized("\ufeff"+fine)), "invalid", ""},
		"not UTF-8":                     {false, once(head + sized("{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}")), "", ""},
		"a zero byte":                   {false, once(head + sized("{\"choices\":[{\"message\":{\"content\":\"\x00\"}}]}")), "invalid", ""},
		"noise without end":             {false, then(head+"\r\n", forever("x")), "too_large", ""},
		"a stream of CR":                {true, once(events + cr), "", ""},
		"a stream of CR LF":             {true, once(events + crlf), "", ""},
		"a stream of CR that stays":     {true, then(events+cr+"data: [DONE]\r\r", stalls), "", ""},
		"line ends without end":         {true, then(events, forever("\n")), "too_large", ""},
		"comments without end":          {true, then(events, forever(": a\n\n")), "too_large", ""},
		"pings without end":             {true, then(events, forever("event: ping\ndata: {}\n\n")), "too_large", ""},
		"no choices without end":        {true, then(events, forever("data: {\"choices\":[]}\n\n")), "too_large", ""},
		"a role without end":            {true, then(events, forever("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n")), "too_large", ""},
		"usage without end":             {true, then(events, forever("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\n")), "timeout", ""},
		"an event without end":          {true, then(events, forever("data: a\n")), "too_large", ""},
		"a line without end":            {true, then(events+"data: ", forever("a")), "too_large", ""},
		"a field without end":           {true, then(events, forever("retry: 1\n")), "too_large", ""},
		"usage without end, later":      {true, then(events+first, forever("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\n")), "", "timeout"},
		"a line without end, later":     {true, then(events+first+"data: ", forever("a")), "", "too_large"},
		"a byte of an event, later":     {true, then(events+first+"d", stalls), "", "timeout"},
		"an error, later":               {true, once(events + first + "data: {\"error\":{\"message\":\"x\"}}\n\n"), "", ""},
		"nothing, later":                {true, once(events + first), "", "cut"},
		"the end, and more":             {true, then(events+first+stop+"\n\ndata: [DONE]\n\n", forever("data: x\n\n")), "", ""},
		"the end without an empty line": {true, once(events + first + "data: [DONE]"), "", ""},
		"a stream as JSON":              {true, once(head + sized(fine)), "invalid", ""},
		"a whole answer as a stream":    {false, once(events + first), "invalid", ""},
		"a stream without a type":       {true, once("HTTP/1.1 200 OK\r\n\r\n" + first + stop + "\n\n"), "", ""},
		"two types":                     {true, once("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Type: text/event-stream\r\n\r\n" + first), "invalid", ""},
		"a gzip stream that stalls":     {true, then("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"+zipped(first)[:20], stalls), "timeout", ""},
		"a refusal without end":         {false, then("HTTP/1.1 400 Bad Request\r\n\r\n", forever("x")), "", ""},
		"a refusal that stalls":         {false, then("HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\n", stalls), "timeout", ""},
		"a refusal, cut":                {false, once("HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\nno"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settings(raw(t, c.answer))
			s.Timeouts.Whole = 600 * time.Millisecond
			if c.want != "timeout" && c.end != "timeout" { // a slow machine makes no difference
				s.Timeouts = DefaultSettings().Timeouts
			}
			e := open(t, s, DefaultBreaker())
			fields := ""
			if c.stream {
				fields = `,"stream":true`
			}
			a, err := e.Call(t.Context(), request(t, fields), nil, nil)
			if got := label(err); got != c.want {
				t.Fatalf("%q, want %q: %v", got, c.want, err)
			}
			if a == nil || a.Stream == nil {
				return
			}
			defer a.Stream.Close()
			_, err = readStream(a.Stream)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if got := label(err); got != c.end {
				t.Errorf("later %q, want %q: %v", got, c.end, err)
			}
		})
	}
}

// label is that of a failure, "" for none.
func label(err error) string {
	var fault *Failure
	switch {
	case err == nil:
		return ""
	case errors.As(err, &fault):
		return fault.Label()
	}
	return err.Error()
}

// keys are n fields of an object.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	return b.String() + `"content":"a"`
}

// Values of headers that a service sends cannot end a header of the gateway, nor be long.
func TestHostileHeaders(t *testing.T) {
	f := gatewaytest.New(t)
	f.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("X-Request-Id", strings.Repeat("\x80a\t", 1000))
		w.Header().Set("Openai-Version", "<script>")
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Connection", "Upgrade")
		return false
	}
	a, err := open(t, settings(f.Base()), DefaultBreaker()).Call(t.Context(), request(t, ""), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if id := a.Header.Get(requestIDHeader); len(id) > 256 || strings.ContainsAny(id, "\r\n\x00") || a.Header.Get("Set-Cookie") != "" || len(a.Header) != 3 {
		t.Errorf("%q", a.Header)
	}
}
