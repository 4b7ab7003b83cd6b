package oip

import (
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
)

// problem is an error of a request with its status.
type problem struct {
	kind *kind
	text string
	err  error // the cause, or nil
}

func (p *problem) Error() string { return p.text }

// Unwrap returns the cause.
func (p *problem) Unwrap() error { return p.err }

// kind is the status of an error over REST and over gRPC.
type kind struct {
	status int
	code   codes.Code
}

var (
	invalid     = &kind{http.StatusBadRequest, codes.InvalidArgument}
	unknown     = &kind{http.StatusNotFound, codes.NotFound}
	tooLarge    = &kind{http.StatusRequestEntityTooLarge, codes.ResourceExhausted}
	badEncoding = &kind{http.StatusUnsupportedMediaType, codes.InvalidArgument}
	badMethod   = &kind{http.StatusMethodNotAllowed, codes.Unimplemented}
	busy        = &kind{http.StatusTooManyRequests, codes.ResourceExhausted}
	unavailable = &kind{http.StatusServiceUnavailable, codes.Unavailable}
	deadline    = &kind{http.StatusGatewayTimeout, codes.DeadlineExceeded}
	canceled    = &kind{499, codes.Canceled} // the client has disconnected; the status is for logs
	internal    = &kind{http.StatusInternalServerError, codes.Internal}
)

// problemf makes a problem.
func problemf(k *kind, format string, args ...any) *problem {
	return &problem{kind: k, text: fmt.Sprintf(format, args...)}
}
