package protocol

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// openAIError is an error in the form of OpenAI's protocols.
func openAIError(p middle.Problem) []byte {
	var param *string
	if p.Param != "" {
		param = &p.Param
	}
	var code any
	if p.Code != "" {
		code = p.Code
	}
	text, _ := json.Marshal(object{"error": object{"message": p.Message, "type": cmp.Or(p.Type, openAIType(p.Status)), "param": param, "code": code}}) // texts always marshal
	return text
}

// openAIType is the type of an error by the status.
func openAIType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500 || status == 0:
		return "server_error"
	}
	return "invalid_request_error"
}

// anthropicTypes are the types of errors of Anthropic's protocol by their status.
var anthropicTypes = map[int]string{
	http.StatusUnauthorized: "authentication_error", http.StatusPaymentRequired: "billing_error", http.StatusForbidden: "permission_error",
	http.StatusNotFound: "not_found_error", http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
	http.StatusServiceUnavailable: "overloaded_error", 529: "overloaded_error", http.StatusGatewayTimeout: "timeout_error",
}

// anthropicError is an error in the form of Anthropic's protocol, which has no field for a parameter: the message names it.
func anthropicError(p middle.Problem) []byte {
	kind := anthropicTypes[p.Status]
	switch {
	case kind != "":
	case p.Status >= 400 && p.Status < 500:
		kind = "invalid_request_error"
	default:
		kind = "api_error"
	}
	message := p.Message
	if p.Param != "" && !strings.Contains(message, p.Param) {
		message = p.Param + ": " + message
	}
	return jsonedit.Encode(object{"type": "error", "error": object{"type": kind, "message": message}})
}

// ReadProblem reads the error of a service in the forms that services use. A text that is none of them is the message.
func ReadProblem(status int, text []byte) middle.Problem {
	if p := problemIn(text); p != nil {
		p.Status = status
		return *p
	}
	const most = 1000
	message := strings.TrimSpace(strings.ToValidUTF8(string(text[:min(len(text), most)]), "?"))
	return middle.Problem{Status: status, Message: cmp.Or(message, "HTTP "+http.StatusText(status))}
}

// problemIn reads the error in a JSON object; nil: there is none.
func problemIn(text []byte) *middle.Problem {
	var body struct{ Error, Message, Detail json.RawMessage }
	if json.Unmarshal(text, &body) != nil {
		return nil
	}
	if !isText(body.Message) {
		body.Message = nil // Ollama's answers have a message, too
	}
	for _, v := range []json.RawMessage{body.Error, body.Message, body.Detail} {
		if len(v) > 0 && string(v) != "null" {
			return problemOf(v)
		}
	}
	return nil
}

// problemOf reads an error: a text, or an object with a message.
func problemOf(v json.RawMessage) *middle.Problem {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return &middle.Problem{Message: s}
	}
	var e struct{ Message, Type, Code, Param, Status any }
	_ = json.Unmarshal(v, &e) // what is no object has no message
	word := func(v any) string {
		s, _ := v.(string)
		return s
	}
	p := &middle.Problem{Message: word(e.Message), Type: word(e.Type), Code: cmp.Or(word(e.Code), word(e.Status)), Param: word(e.Param)}
	if p.Message == "" {
		p.Message = string(v)
	}
	return p
}
