package decideapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pipe/serve/decision"
	"pipe/serve/policies"
)

// body is the JSON of POST /v1/decide. A member that is null counts as absent.
type body struct {
	Policy   string         `json:"policy"`
	Features features       `json:"features"`
	Row      row            `json:"row"`
	Rows     []row          `json:"rows"`
	Text     *jsonString    `json:"text"`
	Texts    []jsonString   `json:"texts"`
	Messages jsontext.Value `json:"messages"`
	Image    *jsonString    `json:"image"`
	Images   []jsonString   `json:"images"`

	Executed executed `json:"executed"`

	wishes
	Top       *integer `json:"top"`
	User      string   `json:"user"`
	Tags      []string `json:"tags"` // what people must know
	RequestID string   `json:"request_id"`
}

// parsedRequest is a request and its options for the response.
type parsedRequest struct {
	request decision.Request
	top     int // ranked pairs per row; -1: all
	// executed are the pairs that a cascade executed, with what is seen of their answers; nil: the first decision is asked for.
	executed executed
}

// Limits on the texts of a request.
const (
	maxRequestID = 128  // bytes
	maxUser      = 256  // characters
	maxNames     = 4096 // of fees and exclusions
	maxTags      = 32
)

// parse reads a request of at most rows rows. The result does not keep the bytes.
func parse(raw []byte, h http.Header, rows int) (*parsedRequest, error) {
	b, err := readJSON(raw)
	if err != nil {
		return nil, err
	}
	out := &parsedRequest{top: -1, executed: b.Executed}
	r := &out.request
	r.Policy, r.User, r.Source, r.Tags = b.Policy, b.User, decision.SourceDecide, b.Tags
	r.NoExplore = b.noExplore()
	if b.Top != nil {
		if out.top = int(*b.Top); out.top < 0 {
			return nil, invalid("invalid_value", "top", "top is %d, which is negative", out.top)
		}
	}
	if utf8.RuneCountInString(b.User) > maxUser {
		return nil, invalid("invalid_value", "user", "user has more than %d characters", maxUser)
	}
	if len(b.Tags) > maxTags {
		return nil, invalid("invalid_value", "tags", "there are %d tags; at most %d are read", len(b.Tags), maxTags)
	}
	if r.ID, err = requestID(b.RequestID, h.Get("X-Request-Id")); err != nil {
		return nil, err
	}
	if r.Prices, err = b.changes(); err != nil {
		return nil, err
	}
	return out, b.inputs(r, rows)
}

// readJSON reads the JSON of a request.
func readJSON(raw []byte) (b body, err error) {
	if f, rest, ok := cutFeatures(raw); ok {
		if len(rest) > 0 && rest[0] == '}' && len(skipSpace(rest[1:])) == 0 {
			b.Features = f
			return b, nil
		}
		// The rest is an object if its comma is replaced by a brace. If it has an error, the whole body is read again below,
		// for an error message with the right position.
		if len(rest) > 0 && rest[0] == ',' && unmarshalRest(rest, &b) == nil && !b.Features.present {
			b.Features = f
			return b, nil
		}
		b = body{}
	}
	if err := json.Unmarshal(raw, &b, json.RejectUnknownMembers(true)); err != nil {
		return b, unreadable(err)
	}
	return b, nil
}

// unmarshalRest reads the members after a comma. It replaces the comma while it reads.
func unmarshalRest(rest []byte, b *body) error {
	if next := skipSpace(rest[1:]); len(next) == 0 || next[0] != '"' {
		return errRest
	}
	rest[0] = '{'
	err := json.Unmarshal(rest, b, json.RejectUnknownMembers(true))
	rest[0] = ','
	return err
}

var errRest = errors.New("no member follows the comma")

// inputs sets the inputs of a request, which must be of exactly one kind.
func (b *body) inputs(r *decision.Request, rows int) error {
	var given []string
	n := 1
	have := func(is bool, name string, count int) bool {
		if is {
			given = append(given, name)
			n = count
		}
		return is
	}
	if have(b.Features.values != nil, "features", b.Features.rows) {
		r.Inputs.Features = b.Features.values
	}
	if have(b.Row != nil, "row", 1) {
		r.Inputs.Rows = []map[string]string{b.Row}
	}
	if have(b.Rows != nil, "rows", len(b.Rows)) {
		for i, one := range b.Rows {
			if one == nil {
				return invalid("invalid_value", fmt.Sprintf("rows[%d]", i), "row %d is null", i)
			}
			r.Inputs.Rows = append(r.Inputs.Rows, one)
		}
	}
	if have(b.Text != nil, "text", 1) {
		r.Inputs.Texts = []string{string(*b.Text)}
	}
	if have(b.Texts != nil, "texts", len(b.Texts)) {
		for _, t := range b.Texts {
			r.Inputs.Texts = append(r.Inputs.Texts, string(t))
		}
	}
	images := b.Images
	if have(b.Image != nil, "image", 1) {
		images = []jsonString{*b.Image}
	}
	have(b.Images != nil, "images", len(b.Images))
	if have(isGiven(b.Messages), "messages", 1) {
		messages, err := decision.ReadMessages(b.Messages)
		if err != nil {
			return err
		}
		r.Conversation = messages
	}
	switch {
	case len(given) != 1:
		return invalid("invalid_value", "", "give exactly one of features, row, rows, text, texts, messages, image and images; the request has %s", listed(given))
	case n < 1:
		return invalid("invalid_value", given[0], "%s has no rows", given[0])
	case n > rows:
		return invalid("invalid_value", given[0], "%s has %d rows; at most %d are decided in one request", given[0], n, rows)
	}
	return readImages(images, given[0], &r.Inputs)
}

func isGiven(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " and ")
}

// readImages decodes the image files.
func readImages(images []jsonString, param string, in *policies.Inputs) error {
	for i, t := range images {
		file, err := decision.ReadImage(string(t))
		if err != nil {
			return invalid("invalid_value", param, "image %d %v", i, err)
		}
		in.Images = append(in.Images, file)
	}
	return nil
}

// requestID returns the id of a request, from its body or else from its header.
func requestID(body, header string) (string, error) {
	id, param := body, "request_id"
	if id == "" {
		id, param = header, "x-request-id"
	}
	if len(id) > maxRequestID || !isPlain(id) {
		return "", invalid("invalid_value", param, "the id of the request is not a string of at most %d printable ASCII characters", maxRequestID)
	}
	return id, nil
}

// isPlain reports whether a text has only printable ASCII characters.
func isPlain(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) < 0
}
