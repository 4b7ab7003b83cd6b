package people

import (
	"cmp"
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
)

// HeaderPerson names the person on whose behalf a request is sent, on a server without keys. With keys, the key says it.
const HeaderPerson = "X-Pipe-Person"

// HeaderKey tells a retry from a new item.
const HeaderKey = "Idempotency-Key"

// Register adds the routes under /v1/people, and the page at /people/.
func (p *People) Register(mux *http.ServeMux) {
	routes := map[string]handler{"GET /v1/people": p.serveStatus, "GET /v1/people/answers": p.serveAnswers, "GET /v1/people/items": p.serveList}
	for pattern, do := range map[string]itemHandler{
		"POST /v1/people/items":            p.put,
		"GET /v1/people/items/{id}":        func(q *request) (*Item, error) { return p.Find(q.Request) },
		"DELETE /v1/people/items/{id}":     p.withdraw,
		"POST /v1/people/claim":            p.byPerson(p.claimNext),
		"POST /v1/people/items/{id}/claim": p.byPerson(func(id, name string, _ *said) (*Item, error) { return p.Claim(id, name) }),
		"POST /v1/people/items/{id}/answer": p.byPerson(func(id, name string, b *said) (*Item, error) {
			return p.Answer(id, name, b.Claim, Said{b.Answer, b.Confidence})
		}),
		"POST /v1/people/items/{id}/back": p.byPerson(func(id, name string, b *said) (*Item, error) { return p.Back(id, name, b.Claim) }),
	} {
		routes[pattern] = func(q *request) (any, error) {
			i, err := do(q)
			if i == nil || err != nil {
				return nil, err
			}
			return p.view(i, q.name()), nil
		}
	}
	for pattern, do := range routes {
		mux.Handle(pattern, http.NewCrossOriginProtection().Handler(p.answer(do)))
	}
	p.registerPage(mux)
}

// ServeNone answers a request to a server without people.
func ServeNone(w http.ResponseWriter, r *http.Request) {
	WriteError(w, r, refuse(http.StatusNotFound, "no_people", "this server has no people: no experts are configured, under people.experts"))
}

// request is a request with its caller.
type request struct {
	*http.Request
	who
	w http.ResponseWriter
}

// handler returns what a request is answered with, as JSON, or why not. Without a value it has answered itself.
type handler func(q *request) (any, error)

// itemHandler is a handler that answers with an item.
type itemHandler func(q *request) (*Item, error)

func (p *People) answer(do handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Type", "application/json")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Cache-Control", "no-store")
		var value any
		asks, err := p.whoAsks(r)
		if err == nil {
			value, err = do(&request{r, asks, w})
		}
		if err != nil {
			WriteError(w, r, err)
		} else if value != nil {
			_ = json.NewEncoder(w).Encode(value) // the client may be gone
		}
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

// read reads the body of a request as JSON. An empty body is an empty object.
func (p *People) read(q *request, to any) error {
	text, err := io.ReadAll(http.MaxBytesReader(q.w, q.Body, int64(2*p.team.Load().ItemBytes)+4096))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the body has more than %d bytes", long.Limit)
	case err != nil:
		return invalid("the body is not complete")
	case len(text) == 0:
		return nil
	}
	if err := strictjson.Unmarshal(text, to); err != nil {
		return invalid("the body cannot be read: %v", err)
	}
	return nil
}

// who is the caller of a request.
type who struct {
	*access.Caller
	person *person // nil: not one of the people
}

// name is the name of the person, if the caller is one.
func (w who) name() string {
	if w.person == nil {
		return ""
	}
	return w.person.Name
}

// whoAsks returns the caller. A key says who the person is. Without keys, the header does.
func (p *People) whoAsks(r *http.Request) (who, error) {
	c, named, t := access.CallerOf(r.Context()), r.Header.Get(HeaderPerson), p.team.Load()
	w := who{Caller: c}
	if c.Name == "" && named != "" {
		o, err := t.person(named)
		return who{c, o}, err
	}
	if i := slices.IndexFunc(t.people, func(o person) bool { return o.key() == c.Name }); i >= 0 {
		w.person = &t.people[i]
	}
	if named != "" && named != w.name() {
		return w, refuse(http.StatusForbidden, "nobody", "the key of this request is not that of %.100q", named)
	}
	return w, nil
}

// said is the body of what a person does with an item.
type said struct {
	Claim      string   `json:"claim"` // the token
	Answer     string   `json:"answer"`
	Confidence *float64 `json:"confidence"`
}

// byPerson answers a request of what only people do.
func (p *People) byPerson(do func(id, name string, b *said) (*Item, error)) itemHandler {
	return func(q *request) (*Item, error) {
		switch {
		case q.person == nil && q.Name == "":
			return nil, refuse(http.StatusBadRequest, "nobody", "the header %s must say who asks, since this server has no keys", HeaderPerson)
		case q.person == nil:
			return nil, refuse(http.StatusForbidden, "nobody", "the key %q is not that of one of the people of this server", q.Name)
		}
		var b said
		if err := p.read(q, &b); err != nil {
			return nil, err
		}
		i, err := do(q.PathValue("id"), q.name(), &b)
		if i == nil && err == nil {
			q.w.Header().Del("Content-Type")
			q.w.WriteHeader(http.StatusNoContent)
		}
		return i, err
	}
}

// claimNext answers POST /v1/people/claim, with 204 if nothing waits.
func (p *People) claimNext(_, name string, _ *said) (*Item, error) {
	i, _, err := p.ClaimNext(name)
	return i, err
}

// sees reports whether a caller may see an item: who put it, who may answer it or has claimed it, and operators.
func (w who) sees(i *Item) bool {
	return w.Admin || i.From == w.Name || w.person != nil && (w.person.able(&i.New) || i.Claim != nil && i.Claim.Person == w.person.Name)
}

// Find returns the item of a request's path, if the caller may see it.
func (p *People) Find(r *http.Request) (*Item, error) {
	w, err := p.whoAsks(r)
	if err != nil {
		return nil, err
	}
	i, err := p.Get(r.PathValue("id"))
	if err == nil && !w.sees(i) {
		return nil, errUnknown
	}
	return i, err
}

// itemView is an item as callers see it.
type itemView struct {
	Item
	State   State   `json:"state"`
	Seconds float64 `json:"expected_seconds"`
}

// view is an item for a person, who alone sees the token of a claim; "" for others.
func (p *People) view(i *Item, person string) *itemView {
	v := &itemView{*i, i.State(p.now()), i.Expected.Seconds()}
	v.Key, v.Note, v.Expected, v.Claim, v.Withdrawn = "", nil, 0, nil, nil
	if c := i.Claim; v.State == StateClaimed {
		v.Claim = &Claim{Person: c.Person, Since: c.Since, Until: c.Until}
		if person == c.Person {
			v.Claim.Token = c.Token
		}
	}
	return v
}

// serveStatus answers GET /v1/people. Operators see all people, and a person only itself.
func (p *People) serveStatus(q *request) (any, error) {
	s := p.Status()
	if !q.Admin {
		s.People = slices.DeleteFunc(s.People, func(o PersonStatus) bool { return o.Name != q.name() })
	}
	return s, nil
}

func (p *People) withdraw(q *request) (*Item, error) {
	i, err := p.Find(q.Request)
	if err == nil && !q.Admin && i.From != q.Name {
		err = refuse(http.StatusForbidden, "not_yours", "only who put an item, or an operator, can withdraw it")
	}
	if err != nil {
		return nil, err
	}
	return p.Withdraw(i.ID)
}

func (p *People) put(q *request) (*Item, error) {
	var n New
	if err := p.read(q, &n); err != nil {
		return nil, err
	}
	n.From, n.Key, n.Note = q.Name, q.Header.Get(HeaderKey), nil
	i, created, err := p.Put(n)
	if err != nil {
		return nil, err
	}
	q.w.Header().Set("Location", "/v1/people/items/"+i.ID)
	if created {
		q.w.WriteHeader(http.StatusCreated)
	}
	return i, nil
}

// mostListed bounds a list.
const mostListed = 1000

func (p *People) serveList(q *request) (any, error) {
	items, err := p.Waiting(q.name())
	list := []*itemView{}
	for _, i := range items {
		if q.sees(i) && len(list) < mostListed {
			list = append(list, p.view(i, q.name()))
		}
	}
	return map[string]any{"items": list}, err
}

// serveAnswers answers GET /v1/people/answers with a table that pipe costs reads, for operators. The id of a row is the idempotency
// key of the item, or else its id.
func (p *People) serveAnswers(q *request) (any, error) {
	if err := access.Admin(q.Context()); err != nil {
		access.WriteRefusal(q.w, q.Request, err)
		return nil, nil
	}
	q.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	out := csv.NewWriter(q.w)
	_ = out.Write([]string{"id", "expert", "advice", "answer", "seconds", "confidence", "person", "time"}) // Flush reports it
	for _, i := range p.Answers() {
		a, confidence := i.Answer, ""
		if a.Confidence != nil {
			confidence = strconv.FormatFloat(*a.Confidence, 'g', -1, 64)
		}
		_ = out.Write([]string{cmp.Or(i.Key, i.ID), i.Expert, i.Advice, a.Text, strconv.FormatFloat(a.Seconds, 'f', 3, 64), confidence, a.Person, a.Time.UTC().Format(time.RFC3339)})
	}
	out.Flush() // an error means that the client is gone
	return nil, nil
}
