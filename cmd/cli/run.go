package cli

import (
	"context"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/interrupt"
)

// Run executes the command, says what went wrong, and returns the exit code. SIGINT, SIGTERM and SIGHUP cancel the context
// once; a second one ends the process at once. code has the exit codes of errors that package exitcode does not know.
//
// Work that does not stop within the patience is abandoned: a read of a named pipe without a writer cannot be interrupted.
// Its temporary files are removed, and the caller must end the process.
func (p *Program) Run(ctx context.Context, execute func(context.Context) error, code func(error) int) int {
	ctx, stop := interrupt.Context(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- execute(ctx) }()
	select {
	case err := <-ended:
		return p.exit(ctx, err, code)
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return p.exit(ctx, err, code)
	case <-time.After(time.Duration(p.patience.Load())):
		atomicfile.Abandon()
		return p.exit(ctx, ctx.Err(), code)
	}
}
