package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"pipe/models/policy"
	"pipe/serve/decision"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
	"pipe/serve/policies"
)

// Types of errors, as OpenAI's clients know them.
const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
	rateLimit      = "rate_limit_error"
)

// failure is an error that a caller gets.
type failure struct {
	status            int
	kind, code, param string // param "" is null
	msg               string
}

func (f *failure) Error() string { return f.msg }

// body is the error as OpenAI's clients read it.
func (f *failure) body() []byte {
	var param *string
	if f.param != "" {
		param = &f.param
	}
	b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": f.msg, "type": f.kind, "param": param, "code": f.code}}) // strings have no error
	return b
}

// writeError answers with an error.
func writeError(w http.ResponseWriter, f *failure) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(f.status)
	_, _ = w.Write(f.body()) // the client may be gone
}

// statusGone is what logs have for a request whose client left.
const statusGone = 499

// unreadable is the failure of a request that cannot be read.
func unreadable(err error) *failure {
	var long *http.MaxBytesError
	var field *chatjson.FieldError
	switch {
	case errors.As(err, &long):
		return &failure{http.StatusRequestEntityTooLarge, invalidRequest, "too_large", "", fmt.Sprintf("the request is longer than %d bytes", long.Limit)}
	case errors.As(err, &field):
		return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", field.Param, field.Error()}
	}
	return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", "", "the request did not come whole"}
}

// unknownModel is the failure of a request for a model that is not there.
func unknownModel(name string) *failure {
	const most = 200
	return &failure{http.StatusNotFound, invalidRequest, "model_not_found", "model", fmt.Sprintf("The model %.*q does not exist here; GET /v1/models lists those that do", most, name)}
}

// UnusableError says that no request can be answered by a policy as the server is configured.
type UnusableError struct{ Msg string }

// Error says why.
func (e *UnusableError) Error() string { return e.Msg }

// undecided is the failure of a request on which no decision was made; wait is not 0 if it may be sent again.
func undecided(model string, err error) (f *failure, wait time.Duration) {
	var unknown *policies.UnknownError
	var prompt *decision.PromptError
	var input *decision.InputError
	var row *policy.RowError
	var price *decision.PriceError
	var full *policies.OverloadError
	var unusable *UnusableError
	var none *decision.NoPairError
	switch {
	case errors.As(err, &none):
		return &failure{http.StatusBadRequest, invalidRequest, "no_fixed_pair", "messages", none.Error() + ": the server's setting gateway.without_text can name one, such as " + none.Known}, 0
	case errors.As(err, &unusable):
		return &failure{http.StatusBadRequest, invalidRequest, "unusable_policy", "model", unusable.Error()}, 0
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

// noExpert is the failure where every expert is left alone at present.
func noExpert() *failure {
	return &failure{http.StatusServiceUnavailable, serverError, "no_expert", "", "no expert is available at present"}
}

// errDeadline ends the calls for one request.
var errDeadline = errors.New("the deadline for all experts is over")

// unanswered is the failure of a request that no expert answered; last is the last error.
func unanswered(said string, last error) (f *failure, wait string) {
	var fault *expert.Failure
	msg := "no expert answered: " + said
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

// retryAfter sets the header that tells a client when to try again.
func retryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
}

// left reports whether the client of a request is gone.
func left(ctx context.Context) bool { return ctx.Err() != nil }
