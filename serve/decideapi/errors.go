package decideapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
	"pipe/serve/policies"
)

// requestError is an error with its response.
type requestError struct {
	status  int
	code    string
	param   string // of the request; empty: none
	message string
	more    []byte // further members of the error object, as JSON that begins with a comma
}

// codeNoLog is the error code while nothing can be written to the decision log.
const codeNoLog = "log_unavailable"

func (e *requestError) Error() string { return e.message }

// invalid is the error for a request that is not valid.
func invalid(code, param, format string, args ...any) *requestError {
	return &requestError{status: http.StatusBadRequest, code: code, param: param, message: fmt.Sprintf(format, args...)}
}

// unfit is the error for a request that can be read and does not fit the policy.
func unfit(param, format string, args ...any) *requestError {
	return &requestError{status: http.StatusUnprocessableEntity, code: "wrong_state", param: param, message: fmt.Sprintf(format, args...)}
}

// statusClientGone is the status in metrics for a client that has disconnected.
const statusClientGone = 499

// json is the body of the response.
func (e *requestError) json() []byte {
	b := append([]byte(nil), `{"error":{"message":`...)
	b = appendText(b, e.message)
	b = append(b, `,"type":"`...)
	b = append(b, typeOf(e.status)...)
	b = append(b, `","param":`...)
	if e.param == "" {
		b = append(b, "null"...)
	} else {
		b = appendText(b, e.param)
	}
	b = append(b, `,"code":"`...)
	b = append(b, e.code...)
	b = append(b, '"')
	b = append(b, e.more...)
	return append(b, "}}\n"...)
}

// appendText appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, text string) []byte {
	out, _ := jsontext.AppendQuote(b, text) // the error only reports invalid UTF-8
	return out
}

// typeOf is the type of an error, as OpenAI's API names it.
func typeOf(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// retryAfter is after how long the client may retry; 0: not known.
func retryAfter(err error) time.Duration {
	var waits interface{ RetryAfter() time.Duration }
	switch {
	case errors.As(err, &waits):
		return max(waits.RetryAfter(), time.Second)
	case isStopping(err), isLogStopped(err):
		return time.Second
	}
	return 0
}

// isStopping reports whether an error means that the server stops, or cannot decide now.
func isStopping(err error) bool {
	return errors.Is(err, policies.ErrClosed) || errors.Is(err, ort.ErrClosed) || errors.Is(err, decisionlog.ErrClosed) || errors.Is(err, decision.ErrNotLogged)
}

// isLogStopped reports whether the log cannot be written now.
func isLogStopped(err error) bool {
	var stopped *decisionlog.StoppedError
	return errors.As(err, &stopped)
}

// asRequestError returns the error for the response. It hides internal errors.
func asRequestError(err error) *requestError {
	if own, ok := errors.AsType[*requestError](err); ok {
		return own
	}
	e := &requestError{status: http.StatusUnprocessableEntity, message: messageOf(err)}
	var (
		unknown  *policies.UnknownError
		overload *policies.OverloadError
		row      *decide.RowError
		input    *decision.InputError
		prompt   *decision.PromptError
		price    *decision.PriceError
		wrong    *decide.InputError
		inputs   *policies.InputsError
	)
	switch {
	case errors.As(err, &unknown):
		e.status, e.code, e.param = http.StatusNotFound, "policy_not_found", "policy"
	case errors.As(err, &overload):
		e.status, e.code = http.StatusTooManyRequests, "overloaded"
	case errors.Is(err, decision.ErrNoLog):
		e.status, e.code = http.StatusNotFound, "no_log"
	case errors.Is(err, decision.ErrNotLogged):
		e.status, e.code, e.message = http.StatusServiceUnavailable, codeNoLog, "the decision could not be logged, and this server answers none that is not"
	case isLogStopped(err):
		e.status, e.code, e.message = http.StatusServiceUnavailable, codeNoLog, "the outcome could not be kept now; send it again later"
	case isStopping(err):
		e.status, e.code, e.message = http.StatusServiceUnavailable, "draining", "the server is stopping"
	case errors.As(err, &price):
		e.code, e.param = "wrong_prices", "prices"
	case errors.As(err, &prompt):
		e.code, e.param = "wrong_messages", "messages"
	case errors.As(err, &input):
		e.code, e.param = "wrong_input", input.Param
	case errors.As(err, &row):
		e.code = "wrong_row"
	case errors.As(err, &wrong), errors.As(err, &inputs):
		e.code = "wrong_input"
	case errors.Is(err, context.DeadlineExceeded):
		e.status, e.code, e.message = http.StatusGatewayTimeout, "timeout", "the decision took too long"
	case errors.Is(err, context.Canceled):
		e.status, e.code, e.message = statusClientGone, "client_closed_request", "the client has gone"
	default:
		e.status, e.code, e.message = http.StatusInternalServerError, "internal", "the server could not decide; its log says why"
	}
	return e
}

// messageOf is the text of an error with its hint.
func messageOf(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) && hinted.Hint() != "" {
		return err.Error() + "; " + hinted.Hint()
	}
	return err.Error()
}
