package decideapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	xjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pipe/pipeline/decisionlog"
	"pipe/serve/access"
	"pipe/serve/decision"
)

// outcome is one outcome of POST /v1/outcomes.
type outcome struct {
	ID      jsonString `json:"id"`
	Loss    *number    `json:"loss"`
	Score   *number    `json:"score"`
	Correct *bool      `json:"correct"`
	Label   string     `json:"label"`
	Comment string     `json:"comment"`
	Replace bool       `json:"replace"`
}

// outcomes is the body of POST /v1/outcomes: one outcome, or a list of them under outcomes.
type outcomes struct {
	outcome
	list   []outcome
	isList bool // the body was a list
}

// UnmarshalJSONFrom reads an outcome, a list of them, or an object with such a list.
func (o *outcomes) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '[' {
		o.isList = true
		return xjson.UnmarshalDecode(d, &o.list)
	}
	var either struct {
		outcome
		Outcomes *[]outcome `json:"outcomes"`
	}
	if err := xjson.UnmarshalDecode(d, &either); err != nil {
		return err
	}
	if either.Outcomes == nil {
		o.list = []outcome{either.outcome}
		return nil
	}
	if either.outcome != (outcome{}) {
		return wrongValue("has a list of outcomes and members of one outcome")
	}
	o.list, o.isList = *either.Outcomes, true
	return nil
}

// outcomes answers POST /v1/outcomes. It keeps every outcome that it can, even if others are refused. The client can send
// the request again, because an outcome that is already known changes nothing.
func (a *API) outcomes(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r, a.settings.Body)
	if err != nil {
		return err
	}
	defer body.release()
	list, err := parseOutcomes(body.bytes, a.settings.Outcomes)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(o decisionlog.Outcome) bool { return o.Replace }) {
		if err := access.Admin(r.Context()); err != nil {
			return &requestError{status: http.StatusForbidden, code: "not_allowed", param: "replace", message: err.Error()}
		}
	}
	client, now := access.CallerOf(r.Context()).Name, time.Now().UnixMicro()
	var kept outcomesResult
	for i, o := range list {
		o.Client, o.Time = client, now
		if err := kept.add(i, o.ID, a.decider, o); err != nil {
			return err
		}
	}
	if err := kept.problem(len(list)); err != nil {
		return err
	}
	answer, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, append(answer, '\n'))
	return nil
}

// outcomesResult counts accepted and refused outcomes.
type outcomesResult struct {
	Accepted   int `json:"accepted"`   // in the log now
	Duplicates int `json:"duplicates"` // among the accepted: in the log before

	unknown, conflicts []string // ids
	first              error    // the first of these problems
}

// add keeps one outcome. An error ends the request.
func (k *outcomesResult) add(i int, id string, d *decision.Decider, o decisionlog.Outcome) error {
	duplicate, err := d.Outcome(o)
	var (
		unknown  *decisionlog.UnknownError
		conflict *decisionlog.ConflictError
		wrong    *decisionlog.RecordError
	)
	switch {
	case err == nil:
		k.Accepted++
		if duplicate {
			k.Duplicates++
		}
		return nil
	case errors.As(err, &unknown):
		k.unknown = append(k.unknown, id)
	case errors.As(err, &conflict):
		k.conflicts = append(k.conflicts, id)
	case errors.As(err, &wrong):
		return invalid("invalid_value", fmt.Sprintf("outcomes[%d]", i), "%v", wrong)
	default:
		return err
	}
	if k.first == nil {
		k.first = err
	}
	return nil
}

// problem returns the error that lists the outcomes that were not kept, nil if there are none.
func (k *outcomesResult) problem(n int) error {
	if k.first == nil {
		return nil
	}
	e := &requestError{status: http.StatusNotFound, code: "unknown_decision", param: "id", message: k.first.Error()}
	if len(k.unknown) == 0 {
		e.status, e.code = http.StatusConflict, "conflicting_outcome"
	}
	if lost := len(k.unknown) + len(k.conflicts); n > 1 {
		e.message = fmt.Sprintf("%d of %d outcomes were not kept: %s", lost, n, e.message)
	}
	more := func(name string, ids []string) {
		e.more = append(e.more, `,"`+name+`":[`...)
		for i, id := range ids {
			if i > 0 {
				e.more = append(e.more, ',')
			}
			e.more = appendText(e.more, id)
		}
		e.more = append(e.more, ']')
	}
	more("unknown", k.unknown)
	more("conflicts", k.conflicts)
	e.more = strconv.AppendInt(append(e.more, `,"accepted":`...), int64(k.Accepted), 10)
	return e
}

// maxLabel is the most characters of a label.
const maxLabel = 256

// parseOutcomes reads the body of a request with at most most outcomes.
func parseOutcomes(raw []byte, most int) ([]decisionlog.Outcome, error) {
	var o outcomes
	if err := xjson.Unmarshal(raw, &o, xjson.RejectUnknownMembers(true)); err != nil {
		return nil, unreadable(err)
	}
	if len(o.list) == 0 || len(o.list) > most {
		return nil, invalid("invalid_value", "outcomes", "there are %d outcomes, not 1 to %d", len(o.list), most)
	}
	out := make([]decisionlog.Outcome, len(o.list))
	for i, one := range o.list {
		out[i] = decisionlog.Outcome{
			ID: string(one.ID), Loss: (*float64)(one.Loss), Score: (*float64)(one.Score), Correct: one.Correct, Label: one.Label, Comment: one.Comment, Replace: one.Replace,
		}
		err := out[i].Check()
		switch {
		case err != nil:
		case !isPlain(out[i].ID):
			err = errors.New("id has other characters than printable ASCII")
		case utf8.RuneCountInString(one.Label) > maxLabel:
			err = fmt.Errorf("label has more than %d characters", maxLabel)
		}
		if err != nil {
			param := ""
			if o.isList {
				param = fmt.Sprintf("outcomes[%d]", i)
			}
			return nil, invalid("invalid_value", param, "%v", err)
		}
	}
	return out, nil
}
