package ort

import (
	"context"
	"errors"
	"fmt"

	yort "github.com/yalue/onnxruntime_go"
)

// call runs the graph once. in and out are in the order of Inputs and Outputs;
// outputs that are nil are filled in.
func (s *Session) call(ctx context.Context, in, out []yort.Value) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closing.Load() {
		return fmt.Errorf("run %q: session %w", s.name, ErrClosed)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.native == nil {
		return fmt.Errorf("run %q: session %w", s.name, ErrClosed)
	}
	var err error
	if ctx.Done() == nil {
		err = s.native.Run(in, out)
	} else {
		err = s.callCancellable(ctx, in, out)
	}
	if err == nil {
		return nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if errors.Is(err, yort.ZeroShapeLengthError) {
		return fmt.Errorf("run %q: an output whose rank the model does not declare is a scalar", s.name)
	}
	return fmt.Errorf("run %q: %w", s.name, native(err))
}

// callCancellable ties the call to ctx: the runtime stops before its next node
// once ctx is done.
func (s *Session) callCancellable(ctx context.Context, in, out []yort.Value) error {
	opts, err := s.takeOptions()
	if err != nil {
		return err
	}
	finished := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(finished)
		// Terminate only fails on options that were never created.
		_ = opts.Terminate()
	})
	err = s.native.RunWithOptions(in, out, opts)
	if stop() {
		s.putOptions(opts)
		return err
	}
	<-finished
	return errors.Join(err, opts.Destroy())
}

func (s *Session) takeOptions() (*yort.RunOptions, error) {
	select {
	case o := <-s.idle:
		return o, nil
	default:
		return yort.NewRunOptions()
	}
}

// putOptions keeps options that were never told to terminate.
func (s *Session) putOptions(o *yort.RunOptions) {
	select {
	case s.idle <- o:
	default:
		_ = o.Destroy() // fails only on options that were never created
	}
}
