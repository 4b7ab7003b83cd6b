package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"pipe/internal/safetext"
)

// Reporter is a Progress for people. On a terminal it draws a bar for the current phase. Elsewhere, in a log file or a
// pipe, it writes a plain line after 10 seconds of work and then every 30 seconds, without control characters. Notes
// are lines in both cases. The caller ends it with Close.
type Reporter struct {
	w      io.Writer
	colour bool
	bars   bool // w is a terminal

	mu    sync.Mutex
	phase *phase
	begun time.Time     // of the first phase
	stop  chan struct{} // ends the goroutine that writes lines; nil if there is none
	ended chan struct{} // closed when it has ended
}

// If w is not a terminal, the first line appears after this long, the others at this interval.
const (
	firstLine = 10 * time.Second
	nextLine  = 30 * time.Second
)

// New returns a Reporter that writes to w. colour is for the bar; the caller sets it according to NO_COLOR.
func New(w io.Writer, colour bool) *Reporter {
	f, ok := w.(*os.File)
	return &Reporter{w: w, colour: colour, bars: ok && term.IsTerminal(int(f.Fd()))}
}

// Start begins a phase.
func (r *Reporter) Start(total int64, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endPhase()
	r.phase = &phase{what: shown(what), total: total, begun: time.Now()}
	if r.bars {
		r.phase.bar = newBar(r.w, total, r.phase.what, r.colour)
		return
	}
	if r.begun.IsZero() {
		r.begun = r.phase.begun
	}
	if r.stop == nil {
		r.stop, r.ended = make(chan struct{}), make(chan struct{})
		go r.lines(r.stop, r.ended)
	}
}

// shown is a text on one line that is safe for a terminal, with URLs as the user writes them.
func shown(text string) string { return safetext.Line(text) }

// Add counts finished units of the phase.
func (r *Reporter) Add(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != nil {
		r.phase.add(n)
	}
}

// Done ends the phase.
func (r *Reporter) Done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endPhase()
}

func (r *Reporter) endPhase() {
	if r.phase != nil && r.phase.bar != nil {
		_ = r.phase.bar.Finish()
	}
	r.phase = nil
}

// Note writes a remark on a separate line. A bar is erased first and redrawn below.
func (r *Reporter) Note(format string, args ...any) {
	line := "pipe: " + shown(fmt.Sprintf(format, args...)) + "\n"
	r.mu.Lock()
	defer r.mu.Unlock()
	bar := r.phase != nil && r.phase.bar != nil
	if bar {
		_ = r.phase.bar.Clear()
	}
	_, _ = io.WriteString(r.w, line) // a failed write must not stop the work
	if bar && !r.phase.bar.IsFinished() {
		_, _ = io.WriteString(r.w, r.phase.bar.String()) // the bar redraws itself at most ten times a second
	}
}

// Close ends the phase and stops the lines. The Reporter can be used again.
func (r *Reporter) Close() {
	r.mu.Lock()
	r.endPhase()
	stop, ended := r.stop, r.ended
	r.stop, r.begun = nil, time.Time{}
	r.mu.Unlock()
	if stop != nil {
		close(stop)
		<-ended
	}
}

// lines writes progress lines until stop.
func (r *Reporter) lines(stop, ended chan struct{}) {
	defer close(ended)
	timer := time.NewTimer(firstLine)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
			timer.Reset(nextLine)
			r.writeLine(stop)
		}
	}
}

func (r *Reporter) writeLine(stop chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != stop {
		return // Close came first
	}
	now := time.Now()
	text := "working"
	if r.phase != nil {
		text = r.phase.describe(now)
	}
	_, _ = fmt.Fprintf(r.w, "pipe: %s (running for %s)\n", text, span(now.Sub(r.begun)))
}
