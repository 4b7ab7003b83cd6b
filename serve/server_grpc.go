package serve

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"pipe/serve/access"
)

// buildGRPC makes the gRPC server. It has the same rules as HTTP.
func (s *Server) buildGRPC() error {
	if s.config.GRPC == "" {
		return nil
	}
	l := s.config.Limits
	options := []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.watchCall, s.access.Unary(), s.gate.Unary(), keepCaller),
		grpc.ChainStreamInterceptor(s.watchStream, s.access.Stream()),
		grpc.MaxRecvMsgSize(l.Body), grpc.MaxSendMsgSize(1 << 30), grpc.MaxHeaderListSize(uint32(l.Header)), //nolint:gosec // Validate bounds it
		grpc.MaxConcurrentStreams(uint32(min(l.Active+l.Queue, 1<<20))), //nolint:gosec // bounded
		grpc.ConnectionTimeout(l.HeaderTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: l.IdleTime}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if s.certs != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.certs.Config("h2"))))
	}
	s.grpc = grpc.NewServer(options...)
	s.parts.oip.RegisterGRPC(s.grpc)
	reflection.Register(s.grpc)
	return nil
}

// call is a gRPC call, for the log.
type call struct{ caller string }

type callKey struct{}

// keepCaller is the innermost interceptor. It stores the caller for the log.
func keepCaller(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.caller = access.CallerOf(ctx).Name
	}
	return next(ctx, request)
}

// watchCall is the outermost interceptor. It gives a call an id, counts and logs it, and turns a panic into an error.
func (s *Server) watchCall(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	began := time.Now()
	md, _ := metadata.FromIncomingContext(ctx)
	id, trace := requestID(first(md.Get(headerRequest))), traceFor(first(md.Get(headerTrace)))
	md = md.Copy()
	md.Set(headerRequest, id)
	md.Set(headerTrace, trace.String())
	c := &call{}
	ctx = context.WithValue(metadata.NewIncomingContext(ctx, md), callKey{}, c)
	_ = grpc.SetHeader(ctx, metadata.Pairs(headerRequest, id)) // the client may be gone
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(p, id, info.FullMethod)
		}
		s.endedCall(ctx, c, info.FullMethod, id, trace.trace, time.Since(began), err)
	}()
	return next(ctx, request)
}

// watchStream is watchCall for streaming calls, which only exist for health checks and reflection.
func (s *Server) watchStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(p, "", info.FullMethod)
		}
		s.endedCall(stream.Context(), &call{}, info.FullMethod, "", "", time.Since(began), err)
	}()
	return next(server, stream)
}

// panicked logs a panic of a handler, and returns an error for the client without its details.
func (s *Server) panicked(p any, id, method string) error {
	s.metrics.Panic()
	s.log.Error("a handler ended in a panic", "request", id, "route", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "the server failed; its log has the reason under this request's id")
}

// endedCall counts and logs a call, with the equivalent HTTP status.
func (s *Server) endedCall(ctx context.Context, c *call, method, id, trace string, took time.Duration, err error) {
	code := httpStatus(status.Code(err))
	s.metrics.Request(method, code, took)
	s.parts.figures.Request(method, code, took)
	if s.config.Logs.Requests == "all" || s.config.Logs.Requests == "errors" && code >= 500 {
		s.log.LogAttrs(ctx, slog.LevelInfo, "request", slog.String("request", id), slog.String("trace", trace), slog.String("method", "grpc"),
			slog.String("route", method), slog.Int("status", code), slog.Duration("took", took), slog.String("caller", c.caller))
	}
}

// httpStatus returns the HTTP status that is equivalent to a gRPC code.
func httpStatus(c codes.Code) int {
	switch c {
	case codes.OK:
		return 200
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return 400
	case codes.Unauthenticated:
		return 401
	case codes.PermissionDenied:
		return 403
	case codes.NotFound:
		return 404
	case codes.AlreadyExists, codes.Aborted:
		return 409
	case codes.ResourceExhausted:
		return 429
	case codes.Canceled:
		return 499
	case codes.Unimplemented:
		return 501
	case codes.Unavailable:
		return 503
	case codes.DeadlineExceeded:
		return 504
	}
	return 500
}

// first returns the first value, "" if there is none.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
