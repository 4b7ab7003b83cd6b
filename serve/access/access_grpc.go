package access

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Unary is Wrap for gRPC. The key is in the metadata authorization or x-api-key. A call without a valid key is
// Unauthenticated, one above a limit is ResourceExhausted.
func (a *Access) Unary() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		ctx, err := a.admitCall(ctx, info.FullMethod)
		if err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
}

// Stream is Unary for streaming calls.
func (a *Access) Stream() grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx, err := a.admitCall(stream.Context(), info.FullMethod)
		if err != nil {
			return err
		}
		return next(server, &callStream{stream, ctx})
	}
}

// callStream is a stream whose context has the caller.
type callStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *callStream) Context() context.Context { return s.ctx }

// admitCall returns the context of a call with its caller.
func (a *Access) admitCall(ctx context.Context, method string) (context.Context, error) {
	if isHealth(method) {
		return ctx, nil
	}
	c, err := a.Admit(keyOfCall(ctx))
	if err != nil {
		code := codes.ResourceExhausted
		if asRefusal(err).Reason == "key" {
			code = codes.Unauthenticated
		}
		return nil, status.Error(code, err.Error())
	}
	return With(ctx, c), nil
}

// isHealth reports whether a method is a health check, of the Open Inference Protocol or of gRPC.
func isHealth(method string) bool {
	switch method {
	case "/inference.GRPCInferenceService/ServerLive", "/inference.GRPCInferenceService/ServerReady",
		"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch":
		return true
	}
	return false
}

// keyOfCall returns the key of a call, "" without one.
func keyOfCall(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, value := range md.Get("authorization") {
		if key, ok := bearerKey(value); ok {
			return key
		}
	}
	for _, key := range md.Get("x-api-key") {
		return key
	}
	return ""
}
