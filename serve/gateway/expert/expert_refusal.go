package expert

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// maxRefusal is the most bytes that are read of a response with an error status.
const maxRefusal = 64 << 10

// statusInvalidToken is the status of some services for an invalid or expired key.
const statusInvalidToken = 498

// isCallerFault reports whether a status means that the request itself is wrong, so that another expert would refuse it too.
// Keys, names of models, limits and payment are not the caller's fault.
func isCallerFault(code int) bool {
	switch code {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusMisdirectedRequest,
		http.StatusLocked, http.StatusFailedDependency, http.StatusTooEarly, http.StatusTooManyRequests, statusInvalidToken:
		return false
	}
	return code >= 400 && code < 500
}

// expertRefusals are reasons why one expert refuses a request that another may accept. words are phrases of such error
// messages, in lower case and without quotes.
var expertRefusals = []struct {
	what  string
	words []string
}{
	{"the conversation is too long for it", []string{
		"context_length", "context length", "context window", "context size", "prompt is too long", "exceeds the maximum number of tokens",
		"exceed_context_size", "reduce the length of the messages", "string_above_max_length", "inputs tokens + max_new_tokens must be <=",
		"input is too long for requested model", "maximum prompt length is", "longer than the maximum model length",
		"total number of tokens in the prompt cannot exceed",
	}},
	{"its filter of contents", []string{
		"content_filter", "content filter", "content management policy", "content_policy", "content policy", "responsibleaipolicyviolation",
		"data_inspection_failed", "flagged as potentially violating", "rejected as a result of our safety system", "moderation_blocked",
	}},
	{"it has no tools", []string{
		"does not support tool", "not support function", "tools are not supported", "tools is not supported", "tool use is not supported",
		"tool calling is not supported", "--enable-auto-tool-choice", "unsupported parameter: tool",
	}},
	{"it sees no pictures", []string{
		"does not support image", "not support vision", "image input is not supported", "images are not supported", "image_url is only supported",
		"image_url is not supported", "not a multimodal model", "at most 0 image", "variant image_url", "image input is not enabled", ".content : value must be a string",
	}},
	{"it does not take a setting of the request", []string{
		"unsupported_value", "unsupported value", "unsupported_parameter", "unsupported parameter", "_tokens is too large",
		"cannot both be specified for this model",
	}},
	{"it has not kept the response that the conversation goes on from", []string{"previous_response_not_found", "previous response with id"}},
	{"it does not take the effort", []string{
		"does not support thinking", "does not support reasoning", "does not support the effort", "does not support parameter reasoningeffort",
		"unrecognized request argument supplied: reasoning_effort", "reasoning_effort is not supported", "reasoning_effort must be one of",
		"reasoning effort is not supported", "thinking is not supported", "thinking level is not supported", "thinking is not enabled for",
		"the thinking budget", "only works in thinking mode", "thinking_budget is out of range", "thinking.type.enabled is not supported",
	}},
}

// expertRefusal returns why this expert refuses a request that another one may accept; "" if the request seems to be wrong.
func expertRefusal(code int, text []byte) string {
	switch code {
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		return "the request is too large for it"
	case http.StatusUnavailableForLegalReasons:
		return "it may not answer, for legal reasons"
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
	default:
		return ""
	}
	messages := errorText(text)
	for _, o := range expertRefusals {
		if slices.ContainsFunc(o.words, func(word string) bool { return strings.Contains(messages, word) }) {
			return o.what
		}
	}
	return ""
}

// quotes removes quotation marks, because every service quotes names in its own way.
var quotes = strings.NewReplacer("'", "", `"`, "", "`", "", "‘", "", "’", "", "“", "", "”", "")

// errorText returns the error messages in a response, in lower case and without quotes: the values of known fields, or the
// whole text if it is not JSON. Other fields are ignored, because they may quote the request.
func errorText(text []byte) string {
	texts := []string{string(text)}
	var v any
	if json.Unmarshal(text, &v) == nil {
		texts = nil
		collectTexts(v, &texts)
	}
	return quotes.Replace(strings.ToLower(strings.Join(texts, "\n")))
}

// collectTexts appends the texts of known fields.
func collectTexts(v any, texts *[]string) {
	switch v := v.(type) {
	case string:
		*texts = append(*texts, v)
	case []any:
		for _, one := range v {
			collectTexts(one, texts)
		}
	case map[string]any:
		for _, name := range []string{"error", "innererror", "detail", "code", "type", "message", "msg"} {
			collectTexts(v[name], texts)
		}
	}
}
