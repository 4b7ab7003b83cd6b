package people

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"pipe/internal/strictjson"
	"pipe/serve/access"
	"pipe/serve/people/queue"
)

// HeaderPerson names the person on whose behalf a request is sent, on a server without keys. With keys, the key says it.
const HeaderPerson = "X-Pipe-Person"

// HeaderKey tells a retry from a new item.
const HeaderKey = "Idempotency-Key"

// Register adds the routes under /v1/people, and the page at /people/.
func (p *People) Register(mux *http.ServeMux) {
	for pattern, do := range map[string]handler{
		"GET /v1/people":                    p.serveStatus,
		"GET /v1/people/answers":            p.serveAnswers,
		"POST /v1/people/claim":             p.serveClaimNext,
		"POST /v1/people/items":             p.servePut,
		"GET /v1/people/items":              p.serveList,
		"GET /v1/people/items/{id}":         p.serveGet,
		"DELETE /v1/people/items/{id}":      p.serveWithdraw,
		"POST /v1/people/items/{id}/claim":  p.serveClaim,
		"POST /v1/people/items/{id}/answer": p.serveAnswer,
		"POST /v1/people/items/{id}/back":   p.serveBack,
	} {
		mux.Handle(pattern, http.NewCrossOriginProtection().Handler(do))
	}
	p.registerPage(mux)
}

// RegisterNone adds the routes of a server without people. They answer 404 with the reason.
func RegisterNone(mux *http.ServeMux) {
	mux.HandleFunc("/v1/people/", ServeNone)
}

// ServeNone answers a request to a server without people.
func ServeNone(w http.ResponseWriter, r *http.Request) {
	WriteError(w, r, refuse(http.StatusNotFound, "no_people", "this server has no people: no experts are configured, under people.experts"))
}

// handler answers a request, or returns why not.
type handler func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		WriteError(w, r, err)
	}
}

// WriteError answers with an error of this package.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{http.StatusInternalServerError, "failed", err.Error()}
	}
	kind := "invalid_request_error"
	switch {
	case e.Status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
		access.SetRetryAfter(w.Header(), time.Minute)
	case e.Status == http.StatusForbidden:
		kind = "permission_error"
	case e.Status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	access.WriteError(w, r, e.Status, kind, e.Code, e.Msg)
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
	return nil
}

// read reads the body of a request as JSON. An empty body is an empty object.
func (p *People) read(w http.ResponseWriter, r *http.Request, to any) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(2*p.settings.ItemBytes)+4096))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the body has more than %d bytes", long.Limit)
	case err != nil:
		return refuse(http.StatusBadRequest, "invalid_request", "the body is not complete")
	case len(text) == 0:
		return nil
	}
	if err := strictjson.Unmarshal(text, to); err != nil {
		return refuse(http.StatusBadRequest, "invalid_request", "the body cannot be read: %v", err)
	}
	return nil
}

// who is the caller of a request.
type who struct {
	caller *access.Caller
	person string // "": not one of the people
}

// whoAsks returns the caller. A key says who the person is. Without keys, the header does.
func (p *People) whoAsks(r *http.Request) (who, error) {
	c := access.CallerOf(r.Context())
	named := r.Header.Get(HeaderPerson)
	if c.Name == "" {
		if named == "" {
			return who{c, ""}, nil
		}
		_, err := p.person(named)
		return who{c, named}, err
	}
	i := slices.IndexFunc(p.list, func(o person) bool { return o.key() == c.Name })
	switch {
	case i >= 0 && (named == "" || named == p.list[i].Name):
		return who{c, p.list[i].Name}, nil
	case named != "":
		return who{}, refuse(http.StatusForbidden, "nobody", "the key of this request is not that of %.100q", named)
	}
	return who{c, ""}, nil
}

// personOf is whoAsks for what only people do.
func (p *People) personOf(r *http.Request) (string, error) {
	w, err := p.whoAsks(r)
	switch {
	case err != nil:
		return "", err
	case w.person == "" && w.caller.Name == "":
		return "", refuse(http.StatusBadRequest, "nobody", "the header %s must say who asks, since this server has no keys", HeaderPerson)
	case w.person == "":
		return "", refuse(http.StatusForbidden, "nobody", "the key %q is not that of one of the people of this server", w.caller.Name)
	}
	return w.person, nil
}

// sees reports whether a caller may see an item: who put it, who may answer it, and operators.
func (p *People) sees(w who, i *queue.Item) bool {
	if w.caller.Admin || i.From == w.caller.Name {
		return true
	}
	o, err := p.person(w.person)
	return err == nil && o.able(i.Expert, i.Advice, i.Tags)
}

// Find returns the item of a request's path, if the caller may see it.
func (p *People) Find(r *http.Request) (queue.Item, error) {
	_, i, err := p.find(r)
	return i, err
}

func (p *People) find(r *http.Request) (w who, i queue.Item, err error) {
	if w, err = p.whoAsks(r); err != nil {
		return w, i, err
	}
	if i, err = p.Get(r.PathValue("id")); err == nil && !p.sees(w, &i) {
		err = &Error{http.StatusNotFound, "not_found", queue.ErrUnknown.Error()}
	}
	return w, i, err
}

// itemView is an item as callers see it.
type itemView struct {
	ID       string          `json:"id"`
	State    queue.State     `json:"state"`
	Expert   string          `json:"expert"`
	Advice   string          `json:"advice,omitempty"`
	Tags     []string        `json:"tags,omitempty"`
	Question json.RawMessage `json:"question"`
	Choices  []string        `json:"choices,omitempty"`
	From     string          `json:"from,omitempty"`
	Put      time.Time       `json:"put"`
	Expected float64         `json:"expected_seconds"`
	Claim    *claimView      `json:"claim,omitempty"`
	Answer   *answerView     `json:"answer,omitempty"`
}

type claimView struct {
	Person string    `json:"person"`
	Token  string    `json:"token,omitempty"` // for the person alone
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

type answerView struct {
	Text       string    `json:"text"`
	Confidence *float64  `json:"confidence,omitempty"`
	Person     string    `json:"person"`
	Time       time.Time `json:"time"`
	Seconds    float64   `json:"seconds"` // for which the person had the item
}

// view is an item for a person; "" for others.
func (p *People) view(i *queue.Item, person string) itemView {
	v := itemView{
		ID: i.ID, State: i.State(p.now()), Expert: i.Expert, Advice: i.Advice, Tags: i.Tags, Question: i.Question, Choices: i.Choices,
		From: i.From, Put: i.Put, Expected: i.Expected.Seconds(),
	}
	if c := i.Claim; v.State == queue.StateClaimed {
		v.Claim = &claimView{Person: c.Person, Since: c.Since, Until: c.Until}
		if person == c.Person {
			v.Claim.Token = c.Token
		}
	}
	if a := i.Answer; a != nil {
		v.Answer = &answerView{a.Text, a.Confidence, a.Person, a.Time, a.Took.Seconds()}
	}
	return v
}

// serveStatus answers GET /v1/people: to operators and people. People see the others' names only as far as they work with them.
func (p *People) serveStatus(w http.ResponseWriter, r *http.Request) error {
	asks, err := p.whoAsks(r)
	if err != nil {
		return err
	}
	s := p.Status()
	if !asks.caller.Admin {
		s.People = slices.DeleteFunc(s.People, func(o PersonStatus) bool { return o.Name != asks.person })
	}
	return writeJSON(w, http.StatusOK, s)
}

// putBody is the body of POST /v1/people/items.
type putBody struct {
	Expert   string          `json:"expert"`
	Advice   string          `json:"advice"`
	Tags     []string        `json:"tags"`
	Question json.RawMessage `json:"question"`
	Choices  []string        `json:"choices"`
}

func (p *People) servePut(w http.ResponseWriter, r *http.Request) error {
	var b putBody
	if err := p.read(w, r, &b); err != nil {
		return err
	}
	i, created, err := p.Put(New{
		Expert: b.Expert, Advice: b.Advice, Tags: b.Tags, Question: b.Question, Choices: b.Choices,
		From: access.CallerOf(r.Context()).Name, Key: r.Header.Get(HeaderKey),
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/people/items/"+i.ID)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return writeJSON(w, status, p.view(&i, ""))
}

// mostListed bounds a list.
const mostListed = 1000

func (p *People) serveList(w http.ResponseWriter, r *http.Request) error {
	asks, err := p.whoAsks(r)
	if err != nil {
		return err
	}
	items, err := p.Waiting(asks.person)
	if err != nil {
		return err
	}
	list := []itemView{}
	for i := range items {
		if p.sees(asks, &items[i]) && len(list) < mostListed {
			list = append(list, p.view(&items[i], asks.person))
		}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"items": list})
}

func (p *People) serveGet(w http.ResponseWriter, r *http.Request) error {
	asks, i, err := p.find(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, p.view(&i, asks.person))
}

func (p *People) serveWithdraw(w http.ResponseWriter, r *http.Request) error {
	asks, i, err := p.find(r)
	if err != nil {
		return err
	}
	if !asks.caller.Admin && i.From != asks.caller.Name {
		return refuse(http.StatusForbidden, "not_yours", "only who put an item, or an operator, can withdraw it")
	}
	if i, err = p.Withdraw(i.ID); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, p.view(&i, asks.person))
}

func (p *People) serveClaim(w http.ResponseWriter, r *http.Request) error {
	name, err := p.personOf(r)
	if err != nil {
		return err
	}
	i, err := p.Claim(r.PathValue("id"), name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, p.view(&i, name))
}

// serveClaimNext answers POST /v1/people/claim, with 204 if nothing waits.
func (p *People) serveClaimNext(w http.ResponseWriter, r *http.Request) error {
	name, err := p.personOf(r)
	if err != nil {
		return err
	}
	i, found, err := p.ClaimNext(name)
	if err != nil {
		return err
	}
	if !found {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return writeJSON(w, http.StatusOK, p.view(&i, name))
}

// answerBody is the body of POST /v1/people/items/{id}/answer and /back.
type answerBody struct {
	Claim      string   `json:"claim"` // the token
	Answer     string   `json:"answer"`
	Confidence *float64 `json:"confidence"`
}

func (p *People) serveAnswer(w http.ResponseWriter, r *http.Request) error {
	return p.end(w, r, func(id, name string, b answerBody) (queue.Item, error) {
		return p.Answer(id, name, b.Claim, Said{b.Answer, b.Confidence})
	})
}

func (p *People) serveBack(w http.ResponseWriter, r *http.Request) error {
	return p.end(w, r, func(id, name string, b answerBody) (queue.Item, error) { return p.Back(id, name, b.Claim) })
}

// end answers a request that ends a claim.
func (p *People) end(w http.ResponseWriter, r *http.Request, do func(id, name string, b answerBody) (queue.Item, error)) error {
	name, err := p.personOf(r)
	if err != nil {
		return err
	}
	var b answerBody
	if err := p.read(w, r, &b); err != nil {
		return err
	}
	i, err := do(r.PathValue("id"), name, b)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, p.view(&i, name))
}

// serveAnswers answers GET /v1/people/answers with a table that pipe costs reads, for operators. The id of a row is the idempotency
// key of the item, or else its id.
func (p *People) serveAnswers(w http.ResponseWriter, r *http.Request) error {
	if err := access.Admin(r.Context()); err != nil {
		access.WriteRefusal(w, r, err)
		return nil
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	out := csv.NewWriter(w)
	_ = out.Write([]string{"id", "expert", "advice", "answer", "seconds", "confidence", "person", "time"}) // Flush reports it
	for _, i := range p.Answers() {
		id, confidence := i.Key, ""
		if id == "" {
			id = i.ID
		}
		if c := i.Answer.Confidence; c != nil {
			confidence = strconv.FormatFloat(*c, 'g', -1, 64)
		}
		_ = out.Write([]string{id, i.Expert, i.Advice, i.Answer.Text, strconv.FormatFloat(i.Answer.Took.Seconds(), 'f', 3, 64), confidence, i.Answer.Person, i.Answer.Time.UTC().Format(time.RFC3339)})
	}
	out.Flush() // an error means that the client is gone
	return nil
}
