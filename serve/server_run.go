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

// Run answers requests until ctx ends, drains and closes the server. It returns nil if every request that had begun was
// answered, a *CutError if some were cut off, or why a listener failed.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	defer s.startBackground(ctx)()
	ended := make(chan error, 2)
	web, calls := s.open.http, s.open.grpc // the goroutines may begin after a stop at once has closed the server
	go func() { ended <- s.http.Serve(web) }()
	if s.grpc != nil {
		go func() { ended <- s.grpc.Serve(calls) }()
	}
	s.log.Info("ready", "http", s.Addresses().HTTP, "grpc", s.Addresses().GRPC)
	select {
	case err := <-ended: // a listener failed
		s.draining.Store(true)
		_ = s.http.Close() // the first error says why
		if s.grpc != nil {
			s.grpc.Stop()
		}
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return s.drain()
}

// startBackground starts what goes on beside requests. It ends with ctx, except the watch over the decision log: draining requests are
// logged too. The function that it returns ends all of it.
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

// saveInterval is how often what keys have used is saved: what a crash can forget.
const saveInterval = time.Minute

// saveUsage saves what keys have used, until ctx ends.
func (s *Server) saveUsage(ctx context.Context) {
	tick := time.NewTicker(saveInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.access.Save(); err != nil {
				s.log.Error("what keys have used is not saved", "error", err.Error())
			}
		}
	}
}

// heapFloor is memory that is never touched, so it takes none. The collector runs when the heap has doubled. Without the
// floor that is every few megabytes, twenty times a second under load, and shows in the slowest hundredth of the answers.
const heapFloor = 48 << 20

// CutError says that the server stopped while requests were running.
type CutError struct{ After time.Duration }

func (e *CutError) Error() string {
	return fmt.Sprintf("stop: requests were still running after %v, and were cut off", e.After)
}

// Hint says what can be done.
func (e *CutError) Hint() string { return "stop.drain in the configuration is how long they may take" }

// drain says that the server is not ready, and ends when the running requests have.
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
		_ = s.http.Close() // what is left is cut off
	}
	<-calls
	if ctx.Err() != nil {
		err = &CutError{s.config.Stop.Drain}
		s.log.Error("cut off", "error", err.Error())
		return err
	}
	s.log.Info("stopped")
	return nilIfClosed(err)
}

// stopCalls waits until calls of gRPC have ended, and cuts them off when ctx ends.
func stopCalls(ctx context.Context, server *grpc.Server) {
	if server == nil {
		return
	}
	defer context.AfterFunc(ctx, server.Stop)()
	server.GracefulStop()
}

// nilIfClosed is err unless it only says that the server was closed.
func nilIfClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
