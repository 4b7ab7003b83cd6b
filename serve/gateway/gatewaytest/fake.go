package gatewaytest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fake is a service of any protocol. It reads a request into the form that all protocols share, and its answer depends on
// every part of it: what a translation loses changes the answer.
type Fake struct {
	*httptest.Server
	Protocol string        // a name of Dialects
	Delay    time.Duration // before each event of a stream
	// Sending is called with each event of a stream just before it is written; nil: nothing is.
	Sending func(event string)

	dialect Dialect
	mu      sync.Mutex
	seen    []Seen
	headers []http.Header
	flaky   int // requests that asked for a failure at first
	gone    int // requests whose client left before the end
	stored  map[string]*Seen
}

// Dialect reads and writes one protocol, as a service does.
type Dialect struct {
	Base  string // of the base_url, after the address
	Read  func(r *http.Request, body []byte) (*Seen, error)
	Write func(s *Seen, a Said) []byte         // a whole answer
	Event func(s *Seen, a Said) []string       // the events of a streamed answer
	Error func(status int, text string) []byte // nil: the form of OpenAI
	Type  string                               // content type of a stream; "": text/event-stream
}

// Dialects are the protocols by name.
var Dialects = map[string]Dialect{
	"openai": chatDialect, "responses": responsesDialect, "anthropic": anthropicDialect,
	"gemini": geminiDialect, "ollama": ollamaDialect, "bedrock": bedrockDialect, "azure": azureDialect,
}

// NewFake returns a service of a protocol. The test closes it.
func NewFake(t testing.TB, protocol string) *Fake {
	t.Helper()
	d, ok := Dialects[protocol]
	if !ok {
		t.Fatalf("no protocol %q", protocol)
	}
	f := &Fake{Protocol: protocol, dialect: d}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// Base is the base_url of the service.
func (f *Fake) Base() string { return f.URL + f.dialect.Base }

// Seen returns what came until now, and the headers with which it came.
func (f *Fake) Seen() ([]Seen, []http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Seen(nil), f.seen...), append([]http.Header(nil), f.headers...)
}

// most is how many requests are kept.
const most = 10_000

func (f *Fake) keep(s *Seen, h http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) < most {
		f.seen, f.headers = append(f.seen, *s), append(f.headers, h.Clone())
	}
}

// ServeHTTP answers what Answer says.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s, err := f.dialect.Read(r, body)
	if err != nil {
		f.fail(w, http.StatusBadRequest, "the service cannot read the request: "+err.Error())
		return
	}
	if err := f.remember(s); err != nil {
		f.fail(w, http.StatusBadRequest, err.Error())
		return
	}
	f.keep(s, r.Header)
	defer f.left(r)
	a := Answer(s)
	switch word := s.fault(); {
	case word == "limit":
		w.Header().Set("Retry-After", "1")
		f.fail(w, http.StatusTooManyRequests, "too many requests")
	case word == "fail", word == "flaky" && f.first():
		f.fail(w, http.StatusInternalServerError, "the service fails")
	case word == "slow":
		wait(r, 5*time.Second)
	case word == "break" && s.Stream:
		events := f.dialect.Event(s, a)
		f.stream(w, r, events[:len(events)-2], 0)
		panic(http.ErrAbortHandler)
	case word == "drip" && s.Stream:
		f.stream(w, r, f.dialect.Event(s, a), 100*time.Millisecond)
	case a.Status != 0:
		f.fail(w, a.Status, a.Text)
	case s.Stream:
		f.stream(w, r, f.dialect.Event(s, a), f.Delay)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(f.dialect.Write(s, a))
	}
}

func (f *Fake) fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	write := f.dialect.Error
	if write == nil {
		write = openaiError
	}
	_, _ = w.Write(write(status, text))
}

// faults are words of the user that make the service fail, or be slow.
var faults = []string{"limit", "fail", "flaky", "slow", "break", "drip"}

// fault is the last text of the user if it is one of them, else "".
func (s *Seen) fault() string {
	for _, it := range slices.Backward(s.Items) {
		if it.Kind == "user" && slices.Contains(faults, it.Text) {
			return it.Text
		}
		if it.Kind == "user" {
			break
		}
	}
	return ""
}

// first reports whether a request is the first one that asks for a failure.
func (f *Fake) first() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flaky++
	return f.flaky == 1
}

// left counts a request whose client left.
func (f *Fake) left(r *http.Request) {
	if r.Context().Err() != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.gone++
	}
}

// Gone returns how many clients left before the end of their answer.
func (f *Fake) Gone() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gone
}

func wait(r *http.Request, d time.Duration) {
	select {
	case <-r.Context().Done():
	case <-time.After(d):
	}
}

// remember keeps a request that the service is to store, and puts the one that it goes on from before it.
func (f *Fake) remember(s *Seen) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Previous != "" {
		before, ok := f.stored[s.Previous]
		if !ok {
			return refusal("Previous response with id '" + s.Previous + "' not found.")
		}
		s.Items = append(append([]Item(nil), before.Items...), s.Items...)
	}
	if s.Store && len(f.stored) < most {
		if f.stored == nil {
			f.stored = map[string]*Seen{}
		}
		kept := *s
		kept.Items = append(append([]Item(nil), s.Items...), Item{"assistant", Answer(s).Text})
		f.stored["resp_"+s.Digest()] = &kept
	}
	return nil
}

func (f *Fake) stream(w http.ResponseWriter, r *http.Request, events []string, delay time.Duration) {
	kind := f.dialect.Type
	if kind == "" {
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	for _, event := range events {
		if r.Context().Err() != nil {
			return
		}
		wait(r, delay)
		if f.Sending != nil {
			f.Sending(event)
		}
		_, _ = io.WriteString(w, event)
		w.(http.Flusher).Flush()
	}
}

// Seen is a request as a service read it. Messages are flat, because protocols group them in other ways.
type Seen struct {
	Path, Model string `json:"-"`
	Stream      bool   `json:"-"`
	Usage       bool   `json:"-"` // whether the usage of a stream was asked for
	Previous    string `json:"-"` // the id of the response that this goes on from
	Store       bool   `json:"-"`
	System      string
	Items       []Item
	Tools       []Tool   `json:",omitempty"`
	Choice      string   `json:",omitempty"` // none, required, or the name of a tool
	Max         int      `json:",omitempty"`
	Temperature *float64 `json:",omitempty"`
	TopP        *float64 `json:",omitempty"`
	Stop        []string `json:",omitempty"`
	Schema      any      `json:",omitempty"` // of the answer
	ids         map[string]int
}

// Item is a part of a message.
type Item struct {
	Kind string // user, assistant, image, call, result
	Text string
}

// Tool is what a model may call.
type Tool struct {
	Name, Description string
	Schema            any
}

// Call is what a model calls.
type Call struct {
	ID, Name string
	Args     any // an object
}

// Said is an answer.
type Said struct {
	Status        int // 0: no error
	Thinking      string
	Text          string
	Calls         []Call
	Finish        string // stop, length, calls
	In, Cached    int    // tokens; Cached are part of In
	Out, Reasoned int    // tokens; Reasoned are part of Out
}

// add adds a part. Texts that follow each other are one.
func (s *Seen) add(kind, text string) {
	if text == "" && (kind == "user" || kind == "assistant") {
		return
	}
	if n := len(s.Items); n > 0 && s.Items[n-1].Kind == kind && (kind == "user" || kind == "assistant") {
		s.Items[n-1].Text += "\n" + text
		return
	}
	s.Items = append(s.Items, Item{kind, text})
}

// system adds a text of the system.
func (s *Seen) system(text string) {
	if s.System != "" && text != "" {
		s.System += "\n"
	}
	s.System += text
}

// call adds a call, and numbers its id.
func (s *Seen) call(id, name string, args any) {
	if s.ids == nil {
		s.ids = map[string]int{}
	}
	if text, ok := args.(string); ok {
		var read any
		if json.Unmarshal([]byte(text), &read) == nil {
			args = read
		}
	}
	s.ids[id] = len(s.ids)
	s.add("call", name+" "+compact(args))
}

// result adds the result of a call.
func (s *Seen) result(id, text string) error {
	n, ok := s.ids[id]
	if !ok && s.Previous == "" { // else the service has kept the call
		return fmt.Errorf("the result of a call %q that is not there", id)
	}
	s.add("result", fmt.Sprint(n)+" "+text)
	return nil
}

// image adds an image by the text of its base64 and its type.
func (s *Seen) image(kind, data string) {
	s.add("image", fmt.Sprintf("%s %x", kind, sha256.Sum256([]byte(data))))
}

// dataURL adds an image by a URL.
func (s *Seen) dataURL(url string) {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		kind, data, _ := strings.Cut(rest, ";base64,")
		s.image(kind, data)
		return
	}
	s.image("url", url)
}

// compact is JSON with sorted keys.
func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Digest is a short digest of the request.
func (s *Seen) Digest() string {
	flat := *s
	flat.System = squeeze(s.System)
	flat.Items = nil
	for _, it := range s.Items {
		flat.Items = append(flat.Items, Item{it.Kind, squeeze(it.Text)})
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(compact(&flat))))[:12]
}

// squeeze makes every run of line ends one: protocols that have no blocks join texts with one or two.
func squeeze(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "\n")
}

// Answer is what a service says to a request. The last text of the user has words that ask for more than a text:
// tool, tools, think, long, reject.
func Answer(s *Seen) Said {
	last, results := "", 0
	for _, it := range s.Items {
		switch it.Kind {
		case "user":
			last, results = it.Text, 0
		case "result":
			results++
		}
	}
	d := s.Digest()
	a := Said{Finish: "stop", In: 100 + len(s.Items), Cached: 10, Out: 20}
	if strings.Contains(last, "reject") {
		return Said{Status: 400, Text: "the request " + d + " is rejected"}
	}
	if strings.Contains(last, "think") {
		a.Thinking, a.Reasoned = "Let me see. It is "+d+".", 7
	}
	a.Text = fmt.Sprintf("I read %s: \"ü\" \\ 漢字 😀\nand %d results.", d, results)
	if s.Schema != nil {
		a.Text = `{"label":"SUPPORTS","page":"Öl"}`
	}
	switch n := min(1+strings.Count(last, "tools"), 3); {
	case strings.Contains(last, "tool") && len(s.Tools) > 0 && results == 0:
		a.Finish = "calls"
		if strings.Contains(last, "silent") {
			a.Text = ""
		}
		for i := range n {
			tool := s.Tools[i%len(s.Tools)]
			args := map[string]any{"page": fmt.Sprintf("Öl %d \"%s\"", i, d), "n": 1.5}
			if name := commandOf(tool); name != "" {
				args = map[string]any{name: "echo the command ran"}
			}
			a.Calls = append(a.Calls, Call{fmt.Sprintf("call_%s_%d", d, i), tool.Name, args})
		}
	case strings.Contains(last, "long"):
		a.Finish = "length"
	}
	return a
}

// commandOf is the argument of a tool of agents that runs a command, "" for other tools.
func commandOf(t Tool) string {
	schema, _ := t.Schema.(object)
	properties, _ := schema["properties"].(object)
	for _, name := range []string{"command", "cmd"} {
		if _, ok := properties[name]; ok {
			return name
		}
	}
	return ""
}

// wordsOf splits a text into the parts of a stream.
func wordsOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// refusal is a message of a service, in its words.
type refusal string

func (r refusal) Error() string { return string(r) }

// halves splits the arguments of a call into two parts of a stream.
func halves(args any) []string {
	text := []rune(compact(args))
	return []string{string(text[:len(text)/2]), string(text[len(text)/2:])}
}

// event is a server-sent event; "" has no name.
func event(name string, data any) string {
	line := "data: " + compact(data) + "\n\n"
	if name != "" {
		line = "event: " + name + "\n" + line
	}
	return line
}

// object is a value of JSON.
type object = map[string]any
