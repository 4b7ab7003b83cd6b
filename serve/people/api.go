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

// ServeNone answers a request to a server without people.
func ServeNone(w http.ResponseWriter, r *http.Request) {
	WriteError(w, r, refuse(http.StatusNotFound, "no_people", "this server has no people: no experts are configured, under people.experts"))
}

// handler answers a request with a value as JSON, or returns why not. Without a value it has answered itself.
type handler func(w http.ResponseWriter, r *http.Request) (any, error)

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	value, err := h(w, r)
	var text []byte
	if err == nil && value != nil {
		text, err = json.Marshal(value)
	}
	switch {
	case err != nil:
		WriteError(w, r, err)
	case value != nil:
		_, _ = w.Write(append(text, '\n')) // the client may be gone
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
func (p *People) read(w http.ResponseWriter, r *http.Request, to any) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(2*p.team.Load().ItemBytes)+4096))
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

// personOf is whoAsks for what only people do.
func (p *People) personOf(r *http.Request) (name string, err error) {
	w, err := p.whoAsks(r)
	switch {
	case err != nil || w.person != nil:
		return w.name(), err
	case w.Name == "":
		return "", refuse(http.StatusBadRequest, "nobody", "the header %s must say who asks, since this server has no keys", HeaderPerson)
	}
	return "", refuse(http.StatusForbidden, "nobody", "the key %q is not that of one of the people of this server", w.Name)
}

// sees reports whether a caller may see an item: who put it, who may answer it, and operators.
func (w who) sees(i *Item) bool {
	return w.Admin || i.From == w.Name || w.person != nil && w.person.able(&i.New)
}

// Find returns the item of a request's path, if the caller may see it.
func (p *People) Find(r *http.Request) (*Item, error) {
	_, i, err := p.find(r)
	return i, err
}

func (p *People) find(r *http.Request) (w who, i *Item, err error) {
	if w, err = p.whoAsks(r); err != nil {
		return w, nil, err
	}
	if i, err = p.Get(r.PathValue("id")); err == nil && !w.sees(i) {
		err = errUnknown
	}
	return w, i, err
}

// itemView is an item as callers see it.
type itemView struct {
	Item
	State   State   `json:"state"`
	Seconds float64 `json:"expected_seconds"`
}

// view is an item for a person, who alone sees the token of a claim; "" for others.
func (p *People) view(i *Item, person string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	v := &itemView{*i, i.State(p.now()), i.Expected.Seconds()}
	v.Key, v.Note, v.Expected, v.Claim, v.Withdrawn = "", nil, 0, nil, nil
	if c := i.Claim; v.State == StateClaimed {
		v.Claim = &Claim{Person: c.Person, Since: c.Since, Until: c.Until}
		if person == c.Person {
			v.Claim.Token = c.Token
		}
	}
	return v, nil
}

// serveStatus answers GET /v1/people. Operators see all people, and a person only itself.
func (p *People) serveStatus(_ http.ResponseWriter, r *http.Request) (any, error) {
	asks, err := p.whoAsks(r)
	s := p.Status()
	if err == nil && !asks.Admin {
		s.People = slices.DeleteFunc(s.People, func(o PersonStatus) bool { return o.Name != asks.name() })
	}
	return s, err
}

func (p *People) servePut(w http.ResponseWriter, r *http.Request) (any, error) {
	var n New
	if err := p.read(w, r, &n); err != nil {
		return nil, err
	}
	n.From, n.Key, n.Note = access.CallerOf(r.Context()).Name, r.Header.Get(HeaderKey), nil
	i, created, err := p.Put(n)
	if err == nil {
		w.Header().Set("Location", "/v1/people/items/"+i.ID)
	}
	if created {
		w.WriteHeader(http.StatusCreated)
	}
	return p.view(i, "", err)
}

// mostListed bounds a list.
const mostListed = 1000

func (p *People) serveList(_ http.ResponseWriter, r *http.Request) (any, error) {
	asks, err := p.whoAsks(r)
	if err != nil {
		return nil, err
	}
	items, err := p.Waiting(asks.name())
	list := []any{}
	for _, i := range items {
		if asks.sees(i) && len(list) < mostListed {
			v, _ := p.view(i, asks.name(), nil)
			list = append(list, v)
		}
	}
	return map[string]any{"items": list}, err
}

func (p *People) serveGet(_ http.ResponseWriter, r *http.Request) (any, error) {
	asks, i, err := p.find(r)
	return p.view(i, asks.name(), err)
}

func (p *People) serveWithdraw(_ http.ResponseWriter, r *http.Request) (any, error) {
	asks, i, err := p.find(r)
	if err == nil && !asks.Admin && i.From != asks.Name {
		err = refuse(http.StatusForbidden, "not_yours", "only who put an item, or an operator, can withdraw it")
	}
	if err == nil {
		i, err = p.Withdraw(i.ID)
	}
	return p.view(i, asks.name(), err)
}

func (p *People) serveClaim(_ http.ResponseWriter, r *http.Request) (any, error) {
	name, err := p.personOf(r)
	if err != nil {
		return nil, err
	}
	i, err := p.Claim(r.PathValue("id"), name)
	return p.view(i, name, err)
}

// serveClaimNext answers POST /v1/people/claim, with 204 if nothing waits.
func (p *People) serveClaimNext(w http.ResponseWriter, r *http.Request) (any, error) {
	name, err := p.personOf(r)
	if err != nil {
		return nil, err
	}
	i, found, err := p.ClaimNext(name)
	if err == nil && !found {
		w.Header().Del("Content-Type")
		w.WriteHeader(http.StatusNoContent)
		return nil, nil
	}
	return p.view(i, name, err)
}

// said is the body of POST /v1/people/items/{id}/answer and /back.
type said struct {
	Claim      string   `json:"claim"` // the token
	Answer     string   `json:"answer"`
	Confidence *float64 `json:"confidence"`
}

func (p *People) serveAnswer(w http.ResponseWriter, r *http.Request) (any, error) {
	return p.end(w, r, func(id, name string, b said) (*Item, error) {
		return p.Answer(id, name, b.Claim, Said{b.Answer, b.Confidence})
	})
}

func (p *People) serveBack(w http.ResponseWriter, r *http.Request) (any, error) {
	return p.end(w, r, func(id, name string, b said) (*Item, error) { return p.Back(id, name, b.Claim) })
}

// end answers a request that ends a claim.
func (p *People) end(w http.ResponseWriter, r *http.Request, do func(id, name string, b said) (*Item, error)) (any, error) {
	var b said
	name, err := p.personOf(r)
	if err == nil {
		err = p.read(w, r, &b)
	}
	if err != nil {
		return nil, err
	}
	i, err := do(r.PathValue("id"), name, b)
	return p.view(i, name, err)
}

// serveAnswers answers GET /v1/people/answers with a table that pipe costs reads, for operators. The id of a row is the idempotency
// key of the item, or else its id.
func (p *People) serveAnswers(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := access.Admin(r.Context()); err != nil {
		access.WriteRefusal(w, r, err)
		return nil, nil
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	out := csv.NewWriter(w)
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
