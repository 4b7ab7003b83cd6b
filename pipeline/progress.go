package pipeline

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress is told how far a stage has come. Start begins a phase of total units (a negative total is unknown) and
// replaces the one before; Add counts finished units; Done ends the phase and may be called again. Calls may come from
// several goroutines.
type Progress interface {
	Start(total int64, what string)
	Add(n int64)
	Done()
}

// Quiet is the Progress that shows nothing.
var Quiet Progress = quiet{}

type quiet struct{}

func (quiet) Start(int64, string) {}
func (quiet) Add(int64)           {}
func (quiet) Done()               {}

// NewProgress returns a bar with rate and time left if w is a terminal, and Quiet otherwise: a log file or a pipe
// gets no control characters. colour follows the caller's reading of NO_COLOR.
func NewProgress(w io.Writer, colour bool) Progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Quiet
	}
	return &bar{w: w, colour: colour}
}

type bar struct {
	w      io.Writer
	colour bool

	mu  sync.Mutex
	now *progressbar.ProgressBar // nil between phases
}

func (b *bar) Start(total int64, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finish()
	b.now = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(28),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionEnableColorCodes(b.colour),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetTheme(barTheme(b.colour)),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)
}

func (b *bar) Add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now != nil {
		_ = b.now.Add64(n) // a bar that cannot be drawn must not stop the work
	}
}

func (b *bar) Done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finish()
}

func (b *bar) finish() {
	if b.now != nil {
		_ = b.now.Finish()
		b.now = nil
	}
}

func barTheme(colour bool) progressbar.Theme {
	t := progressbar.Theme{Saucer: "#", SaucerHead: "#", SaucerPadding: ".", BarStart: "[", BarEnd: "]"}
	if colour {
		t.Saucer, t.SaucerHead = "[green]#[reset]", "[green]#[reset]"
	}
	return t
}
