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
	err := s.callNative(ctx, in, out)
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

func (s *Session) callNative(ctx context.Context, in, out []yort.Value) error {
	var opts *yort.RunOptions
	if ctx.Done() != nil {
		var release func()
		var err error
		if opts, release, err = s.cancelWith(ctx); err != nil {
			return err
		}
		defer release()
	}
	if s.flush {
		return flushingDenormals(func() error { return s.native.RunWithOptions(in, out, opts) })
	}
	return s.native.RunWithOptions(in, out, opts)
}

// cancelWith returns run options that stop a call before its next node once ctx is done. release returns them after the
// call.
func (s *Session) cancelWith(ctx context.Context) (opts *yort.RunOptions, release func(), err error) {
	opts, err = s.takeOptions()
	if err != nil {
		return nil, nil, err
	}
	finished := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(finished)
		_ = opts.Terminate() // fails only on options that were never created
	})
	return opts, func() {
		if stop() {
			s.putOptions(opts)
			return
		}
		<-finished
		_ = opts.Destroy() // fails only on options that were never created
	}, nil
}

func (s *Session) takeOptions() (*yort.RunOptions, error) {
	select {
	case o := <-s.idle:
		return o, nil
	default:
		return yort.NewRunOptions()
	}
}

// putOptions keeps options that were not used to terminate a run.
func (s *Session) putOptions(o *yort.RunOptions) {
	select {
	case s.idle <- o:
	default:
		_ = o.Destroy() // fails only on options that were never created
	}
}
