package gateway

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/access"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/people"
	"pipe/serve/policies"
)

// headerTags has the tags of a request, with commas between them: what a person must know to answer it.
const headerTags = "X-Pipe-Tags"

// tags are the tags of the request.
func (c *chat) tags() (tags []string) {
	for _, t := range strings.Split(strings.Join(c.r.Header.Values(headerTags), ","), ",") {
		if t = strings.TrimSpace(t); t != "" {
			tags = append(tags, t)
		}
	}
	return tags
}

// ticket is what the gateway needs to answer in the caller's protocol once a person has answered.
type ticket struct {
	Decision string          `json:"decision"`
	Protocol string          `json:"protocol"` // the caller's path below /v1
	Request  json.RawMessage `json:"request"`
}

// withoutPeople lists the people of a cascade that answers the request in stages: no stage waits for a person.
func (c *chat) withoutPeople(p *policies.Policy) (without []policy.Part) {
	if c.settings.People == nil || !c.inStages(p) {
		return nil
	}
	for _, e := range p.Info().Actions.Experts {
		if c.settings.People.Has(e.Name) {
			without = append(without, policy.Expert(e.Name))
		}
	}
	return without
}

// errPeople is why a pair of people does not answer at once.
var errPeople = errors.New("people do not answer while a caller waits (people.on_chosen: next)")

// giveToPeople puts the request into the queue of people and answers with a ticket, if that is configured. Else the next pair is
// tried.
func (q *routed) giveToPeople(pair int) bool {
	if q.settings.People.OnChosen() != people.Ticket {
		q.addFailure(pair, 0, 0, errPeople)
		return false
	}
	path, err := pathOf(q.request.Format)
	if err != nil {
		q.addFailure(pair, 0, 0, err)
		return false
	}
	note, err := json.Marshal(ticket{q.record.ID, path, q.request.Text()})
	if err != nil { // the request was read as JSON
		panic(err)
	}
	question, err := json.Marshal(map[string]json.RawMessage{"messages": protocol.ChatMessages(q.request)})
	if err != nil {
		panic(err)
	}
	item, _, err := q.settings.People.Put(people.New{
		Expert: q.expertOf(pair), Advice: q.adviceOf(pair), Tags: q.tags(), Question: question, Note: note,
		From: access.CallerOf(q.r.Context()).Name, Key: "decision " + q.record.ID,
	})
	if err != nil {
		q.api.metrics.Fallback(q.expertOf(pair), "people")
		q.addFailure(pair, 0, 0, err)
		return false
	}
	q.setHeaders(pair, q.before())
	q.record.Executed = pair
	q.record.Attempts = append(q.record.Attempts, decisionlog.Attempt{Action: pair, Status: http.StatusAccepted})
	pending(q.w, item.ID)
	return true
}

// pathOf is the path of a protocol of callers.
func pathOf(of protocol.Caller) (string, error) {
	for path, caller := range protocol.Callers() {
		if caller == of {
			return path, nil
		}
	}
	return "", errors.New("people do not answer in this protocol")
}

// pending answers that a person has not answered yet, and where to ask again.
func pending(w http.ResponseWriter, id string) {
	at := "/v1/people/tickets/" + id
	body, err := json.Marshal(map[string]string{"object": "people.ticket", "id": id, "status": "pending", "url": at})
	if err != nil { // strings always marshal
		panic(err)
	}
	h := w.Header()
	h.Set("Location", at)
	h.Set("Retry-After", "30")
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}

// serveTicket answers GET /v1/people/tickets/{id}: 202 until a person has answered, and then the answer in the protocol of the request.
func (a *API) serveTicket(w http.ResponseWriter, r *http.Request) {
	b := a.acquire()
	defer a.release(b)
	if b.settings.People == nil {
		people.ServeNone(w, r)
		return
	}
	item, err := b.settings.People.Find(r)
	if err != nil {
		people.WriteError(w, r, err)
		return
	}
	var t ticket
	if item.Note == nil || json.Unmarshal(item.Note, &t) != nil {
		writeError(w, &failure{http.StatusNotFound, invalidRequest, "not_found", "", "this item is not the ticket of a request: GET /v1/people/items/" + item.ID + " has it"})
		return
	}
	switch {
	case item.Withdrawn != nil:
		writeError(w, &failure{http.StatusGone, invalidRequest, "withdrawn", "", "the question was withdrawn"})
	case item.Answer == nil:
		pending(w, item.ID)
	default:
		a.sendTicket(w, r, &t, &middle.Answer{
			ID: "people-" + item.ID, Model: item.Expert, Finish: middle.Stop, Parts: []middle.Part{{Kind: middle.Text, Text: item.Answer.Text}},
		}, item.Expert)
	}
}

// sendTicket writes the answer of a person.
func (a *API) sendTicket(w http.ResponseWriter, r *http.Request, t *ticket, answer *middle.Answer, expert string) {
	caller, ok := protocol.Callers()[t.Protocol]
	var body []byte
	err := errors.New("its protocol is not known")
	if ok {
		var request *protocol.Incoming
		if request, err = caller.ReadRequest(t.Request); err == nil {
			body, err = caller.WriteAnswer(answer, request)
		}
	}
	if err != nil {
		a.log.LogAttrs(r.Context(), slog.LevelError, "the answer of a person could not be written in the protocol of its request", slog.String("error", err.Error()))
		writeError(w, &failure{http.StatusInternalServerError, serverError, "failed", "", "the answer could not be written; the server's log has the reason"})
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set(headerDecision, t.Decision)
	h.Set(headerExpert, headerValue(expert))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // the client may be gone
}
