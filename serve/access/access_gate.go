package access

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"pipe/serve/metrics"
)

// Gate bounds the requests that run at once. A bounded number of others wait in a queue, and the rest is refused.
type Gate struct {
	places  chan struct{}
	waiting atomic.Int64
	limits  Limits
	metrics *metrics.Metrics
}

// NewGate makes a gate for requests over HTTP and gRPC together.
func NewGate(l Limits, m *metrics.Metrics) *Gate {
	return &Gate{places: make(chan struct{}, l.Active), limits: l, metrics: m}
}

// enter waits for a place. If it returns nil, the caller must call leave. The error is a *Refusal with the reason "queue", or
// the error of ctx.
func (g *Gate) enter(ctx context.Context) error {
	select {
	case g.places <- struct{}{}:
		return nil
	default:
	}
	if g.waiting.Add(1) > int64(g.limits.Queue) {
		g.waiting.Add(-1)
		return g.full()
	}
	g.metrics.Queue("request", int(g.waiting.Load()))
	defer func() { g.metrics.Queue("request", int(g.waiting.Add(-1))) }()
	timer := time.NewTimer(g.limits.QueueWait)
	defer timer.Stop()
	select {
	case g.places <- struct{}{}:
		return nil
	case <-timer.C:
		return g.full()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives a place back.
func (g *Gate) leave() { <-g.places }

func (g *Gate) full() error {
	g.metrics.Refused("queue")
	return &Refusal{Reason: "queue", Wait: g.limits.QueueWait}
}

// Wrap serves requests through the gate. Health checks and metrics bypass it, because they must work when it is full.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if passesGate(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if err := g.enter(r.Context()); err != nil {
			if r.Context().Err() == nil {
				WriteRefusal(w, r, asRefusal(err))
			}
			return
		}
		defer g.leave()
		next.ServeHTTP(w, r)
	})
}

func passesGate(path string) bool { return isHealthPath(path) || path == "/metrics" }

// Unary is Wrap for gRPC.
func (g *Gate) Unary() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if isHealth(info.FullMethod) {
			return next(ctx, request)
		}
		if err := g.enter(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, status.FromContextError(ctx.Err()).Err()
			}
			return nil, status.Error(codes.ResourceExhausted, err.Error())
		}
		defer g.leave()
		return next(ctx, request)
	}
}

// Waiting is the number of requests in the queue.
func (g *Gate) Waiting() int { return int(g.waiting.Load()) }
