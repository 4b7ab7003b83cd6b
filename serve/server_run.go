package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Run answers requests until ctx ends. It then waits for running requests and closes the server. It returns nil if every
// request was answered, a *CutError if some were cancelled, or the error of a listener that failed.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	defer s.startBackground(ctx)()
	ended := make(chan error, 2)
	web, calls := s.open.http, s.open.grpc // copies, because the server may be closed before the goroutines start
	go func() { ended <- s.http.Serve(web) }()
	if s.grpc != nil {
		go func() { ended <- s.grpc.Serve(calls) }()
	}
	s.log.Info("ready", "http", s.Addresses().HTTP, "grpc", s.Addresses().GRPC)
	select {
	case err := <-ended: // a listener failed
		s.draining.Store(true)
		_ = s.http.Close() // the first error is returned
		if s.grpc != nil {
			s.grpc.Stop()
		}
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return s.drain()
}

// startBackground starts the background tasks. They end with ctx, except the reports about the decision log, because requests
// are logged while the server drains. end stops all of them and waits.
func (s *Server) startBackground(ctx context.Context) (end func()) {
	watching, unwatch := context.WithCancel(ctx)
	logging, unlog := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { s.watchPolicies(watching) })
	all.Go(func() { s.saveUsage(watching) })
	all.Go(func() { s.watchLog(logging) })
	return func() {
		unwatch()
		unlog()
		all.Wait()
	}
}

// saveInterval is how often the usage of keys is saved. A crash loses the usage since the last time.
const saveInterval = time.Minute

// saveUsage saves the usage of keys periodically, until ctx ends.
func (s *Server) saveUsage(ctx context.Context) {
	tick := time.NewTicker(saveInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.access.Save(); err != nil {
				s.log.Error("the usage of keys could not be saved", "error", err.Error())
			}
		}
	}
}

// heapFloor is the size of a block that is allocated and never touched, so it uses no physical memory. It makes garbage
// collections rarer, because one starts when the heap has doubled. Without it they run every few megabytes, twenty times a
// second under load, which shows in the 99th percentile of response times.
const heapFloor = 48 << 20

// CutError means that the server stopped while requests were running.
type CutError struct{ After time.Duration }

func (e *CutError) Error() string {
	return fmt.Sprintf("stop: requests were still running after %v, and were cut off", e.After)
}

// Hint says what can be done.
func (e *CutError) Hint() string { return "stop.drain in the configuration is how long they may take" }

// drain reports that the server is not ready, and waits for the running requests, for at most Stop.Drain.
func (s *Server) drain() error {
	s.draining.Store(true)
	s.log.Info("draining", "notice", s.config.StopNotice().String(), "drain", s.config.Stop.Drain.String())
	time.Sleep(s.config.StopNotice())
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Stop.Drain)
	defer cancel()
	calls := make(chan struct{})
	go func() {
		defer close(calls)
		stopCalls(ctx, s.grpc)
	}()
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close() // this cancels the rest
	}
	<-calls
	if s.parts.gateway != nil && ctx.Err() == nil {
		s.drainPanel(ctx)
	}
	if ctx.Err() != nil {
		err = &CutError{s.config.Stop.Drain}
		s.log.Error("cut off", "error", err.Error())
		return err
	}
	s.log.Info("stopped")
	return nilIfClosed(err)
}

// drainPanel waits for the panel, and abandons what is left shortly before ctx ends, so that requests of callers are not taken
// for cut off.
func (s *Server) drainPanel(ctx context.Context) {
	end, _ := ctx.Deadline()
	left := time.Until(end)
	ctx, cancel := context.WithTimeout(ctx, left-left/10)
	defer cancel()
	s.parts.gateway.Drain(ctx)
}

// stopCalls waits for running gRPC calls, and cancels them when ctx ends.
func stopCalls(ctx context.Context, server *grpc.Server) {
	if server == nil {
		return
	}
	defer context.AfterFunc(ctx, server.Stop)()
	server.GracefulStop()
}

// nilIfClosed returns err, and nil for the error that the server was closed.
func nilIfClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
