package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"pipe/models/policy"
	"pipe/serve/decision"
	"pipe/serve/gateway/capability"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/wishes"
	"pipe/serve/policies"
)

// The error types of OpenAI's API.
const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
	rateLimit      = "rate_limit_error"
)

// failure is an error response to a caller.
type failure struct {
	status            int
	kind, code, param string // param "" is null
	msg               string
}

func (f *failure) Error() string { return f.msg }

// problem is the error as protocols write it.
func (f *failure) problem() middle.Problem {
	return middle.Problem{Status: f.status, Type: f.kind, Code: f.code, Param: f.param, Message: f.msg}
}

// writeError answers with an error in the format of OpenAI's API.
func writeError(w http.ResponseWriter, f *failure) { writeErrorTo(w, protocol.Chat, f) }

// writeErrorTo answers with an error in the protocol of the caller.
func writeErrorTo(w http.ResponseWriter, caller protocol.Caller, f *failure) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(f.status)
	_, _ = w.Write(caller.Error(f.problem())) // the client may be gone
}

// countedFields are the fields of requests, in all protocols, by which errors are counted. A caller can make up any other name.
var countedFields = []string{
	"content", "input", "instructions", "max_completion_tokens", "max_output_tokens", "max_tokens", "messages", "metadata", "modalities", "model", "n", "output_config", "pipe",
	"previous_response_id", "reasoning", "reasoning_effort", "response_format", "service_tier", "stop", "stop_sequences", "store", "stream", "stream_options",
	"system", "temperature", "text", "thinking", "tool_choice", "tools", "top_p", "user", "x-pipe-deadline", "x-pipe-explore", "x-pipe-fees", "x-pipe-lambda", "x-pipe-without",
}

// fieldOf is the field of a request that a path such as messages.2.content begins with; "other" for one that is not counted.
func fieldOf(path string) string {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	if path = strings.ToLower(path[:end]); path != "" && !slices.Contains(countedFields, path) {
		return "other"
	}
	return path
}

// statusGone is the logged status of a request whose client disconnected.
const statusGone = 499

// unreadable is the failure of a request that cannot be read.
func unreadable(err error) *failure {
	var long *http.MaxBytesError
	var field *middle.FieldError
	var own *failure
	var wish *wishes.Error
	switch {
	case errors.As(err, &long):
		return &failure{http.StatusRequestEntityTooLarge, invalidRequest, "too_large", "", fmt.Sprintf("the request is longer than %d bytes", long.Limit)}
	case errors.As(err, &wish):
		return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", wish.Param, wish.Msg}
	case errors.As(err, &own):
		return own
	case errors.As(err, &field):
		return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", field.Param, field.Error()}
	}
	return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", "", "the request body is not complete"}
}

// unknownModel is the failure of a request for a model that does not exist.
func unknownModel(name string) *failure {
	const most = 200
	return &failure{http.StatusNotFound, invalidRequest, "model_not_found", "model", fmt.Sprintf("The model %.*q does not exist here; GET /v1/models lists those that do", most, name)}
}

// unusableError means that a policy can answer no chat request with the present configuration of the server.
type unusableError struct{ Msg string }

// Error says why.
func (e *unusableError) Error() string { return e.Msg }

// decisionFailure is the failure of a request on which no decision could be made. wait is after how long the client may
// retry; 0: retrying does not help.
func decisionFailure(model string, err error) (f *failure, wait time.Duration) {
	var unknown *policies.UnknownError
	var prompt *decision.PromptError
	var input *decision.InputError
	var row *policy.RowError
	var price *decision.PriceError
	var full *policies.OverloadError
	var unusable *unusableError
	var none *decision.NoPairError
	var incapable *capability.Error
	var wish *wishes.UnfitError
	switch {
	case errors.As(err, &none):
		return &failure{http.StatusBadRequest, invalidRequest, "no_fixed_pair", "messages", none.Error() + ": the server's setting gateway.without_text can name one, such as " + none.Known}, 0
	case errors.As(err, &unusable):
		return &failure{http.StatusBadRequest, invalidRequest, "unusable_policy", "model", unusable.Error()}, 0
	case errors.As(err, &wish):
		return &failure{http.StatusBadRequest, invalidRequest, "wrong_prices", wish.From[0], wish.Error()}, 0
	case errors.As(err, &incapable):
		return &failure{http.StatusBadRequest, invalidRequest, "not_supported", incapable.Field(), incapable.Error()}, 0
	case errors.As(err, &unknown):
		return unknownModel(model), 0
	case errors.As(err, &prompt):
		return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", "messages", prompt.Error()}, 0
	case errors.As(err, &input):
		return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", "messages", "the policy cannot decide on this conversation: " + input.Error()}, 0
	case errors.As(err, &price):
		return noExpert(), time.Second
	case errors.As(err, &row):
		return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", "messages", "the policy cannot decide on this conversation: " + row.Err.Error()}, 0
	case errors.As(err, &full):
		return &failure{http.StatusTooManyRequests, rateLimit, "overloaded", "", "too many requests wait for a decision"}, full.RetryAfter()
	case errors.Is(err, decision.ErrNotLogged):
		return &failure{http.StatusServiceUnavailable, serverError, "not_logged", "", "decisions cannot be logged at present, and this server answers none without its log"}, time.Second
	}
	return &failure{http.StatusInternalServerError, serverError, "no_decision", "", "no decision could be made; the server's log has the reason"}, 0
}

// noExpert is the failure of a request while the circuit breakers of all experts are open.
func noExpert() *failure {
	return &failure{http.StatusServiceUnavailable, serverError, "no_expert", "", "no expert is available at present"}
}

// errDeadline is the cause with which the calls for a request are cancelled at Fallback.Deadline.
var errDeadline = errors.New("the deadline for all experts has passed")

// expertsFailure is the failure of a request that no expert answered. reasons says why, in words, and last is the last error.
// wait is the value of Retry-After, "" for none.
func expertsFailure(reasons string, last error) (f *failure, wait string) {
	var fault *expert.Failure
	msg := "no expert answered: " + reasons
	switch {
	case errors.Is(last, errDeadline):
		return &failure{http.StatusGatewayTimeout, serverError, "deadline", "", msg}, ""
	case !errors.As(last, &fault):
		return &failure{http.StatusBadGateway, serverError, "expert_failed", "", msg}, ""
	case fault.Status == http.StatusTooManyRequests:
		return &failure{http.StatusTooManyRequests, rateLimit, "expert_limit", "", msg}, cmp.Or(fault.After, "1")
	case fault.Reason == "busy" || fault.Reason == "open":
		return &failure{http.StatusServiceUnavailable, serverError, "no_expert", "", msg}, "1"
	case fault.Reason == "timeout":
		return &failure{http.StatusGatewayTimeout, serverError, "expert_timeout", "", msg}, ""
	}
	return &failure{http.StatusBadGateway, serverError, "expert_failed", "", msg}, ""
}

// clientGone reports whether the client of a request has disconnected.
func clientGone(ctx context.Context) bool { return ctx.Err() != nil }
