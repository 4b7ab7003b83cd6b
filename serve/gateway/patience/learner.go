package patience

import (
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pipe/serve/metrics"
)

// Learner learns about all experts of a gateway. It is safe for concurrent use.
type Learner struct {
	metrics *metrics.Metrics
	log     *slog.Logger
	rules   atomic.Pointer[rules]
	file    string

	mu      sync.Mutex
	experts map[string]*Expert
	read    map[string]savedExpert // of the file, until the expert is asked for

	saving sync.Mutex // held while the file is written
	stop   chan struct{}
	done   sync.WaitGroup
}

// rules are the settings that hold at present.
type rules struct {
	Settings
	cuts bool    // calls are cut by what was learned
	keep float64 // factor by which times fade with each answer
}

// New makes a learner, and reads its file if there is one. With settings of nil it learns, and calls are cut by the flat
// allowance that [Wait.Allow] gets. The caller closes it. metrics may be nil.
func New(s *Settings, m *metrics.Metrics, log *slog.Logger) (*Learner, error) {
	l := &Learner{metrics: m, log: log, experts: make(map[string]*Expert), stop: make(chan struct{})}
	l.Set(s)
	if l.file = string(l.rules.Load().File); l.file == "" {
		return l, nil
	}
	if err := l.load(); err != nil {
		return nil, err
	}
	l.done.Go(l.saveOften)
	return l, nil
}

// Set replaces the settings but for the file. nil: see [New]. A nil learner has none.
func (l *Learner) Set(s *Settings) {
	if l == nil {
		return
	}
	r := &rules{Settings: DefaultSettings(), cuts: s != nil}
	if s != nil {
		r.Settings = *s
	}
	r.keep = math.Exp2(-1 / float64(r.HalfLife))
	l.rules.Store(r)
}

// File is the file that keeps what was learned, "" for none. It holds until the learner is closed.
func (l *Learner) File() string { return l.file }

// Expert returns what is learned about an expert. The identity is what its times depend on: where the service is, and its
// model. After a change of it, nothing is known any more. A nil learner returns nil.
func (l *Learner) Expert(name, identity string) *Expert {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.experts[name]
	if e == nil || e.identity != identity {
		e = &Expert{learner: l, name: name, identity: identity, cells: make(map[cellKey]*cell), waiting: make(map[*Wait]struct{})}
		if saved := l.read[name]; saved.Identity == identity {
			e.restore(saved)
		}
		delete(l.read, name)
		l.experts[name] = e
	}
	return e
}

// all returns the experts, sorted by name.
func (l *Learner) all() (list []*Expert) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.experts)) {
		list = append(list, l.experts[name])
	}
	return list
}

// lengths are the ends of the classes of prompts, in tokens. The last class has all longer ones.
var lengths = []int{1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18}

// cellKey names a class of calls whose times are learned together.
type cellKey struct {
	stream bool
	length int // index in lengths; len(lengths) for longer prompts
}

func keyOf(stream bool, tokens int) cellKey {
	k, _ := slices.BinarySearch(lengths, tokens)
	return cellKey{stream, k}
}

// cell has the times of a class of calls.
type cell struct {
	begins  curve // from the call until the first content of a stream, or the whole answer
	silence curve // the longest time without a sign of life on the way
}

// Expert is what is known about one expert, and its running calls. It is safe for concurrent use. A nil Expert learns
// nothing.
type Expert struct {
	learner        *Learner
	name, identity string

	mu      sync.Mutex
	cells   map[cellKey]*cell
	waiting map[*Wait]struct{} // calls without content
	newest  time.Time          // when the latest call began that showed a sign of life
	changed time.Time          // when newest last changed
	unheard int                // calls that were given up since then
	check   *time.Timer        // of the silence; nil: nothing waits
	unsaved bool               // the file lacks something
	slow    int64              // calls that were cut one by one
	silent  int64              // calls that were cut together
}

func (e *Expert) cell(k cellKey) *cell {
	if e.cells[k] == nil {
		e.cells[k] = &cell{}
	}
	return e.cells[k]
}

// allowance is how long a call may be silent.
func (c *cell) allowance(r *rules) time.Duration {
	if c == nil || c.silence.n < r.Answers {
		return r.Start
	}
	learned := r.Margin * float64(c.silence.quantile(r.Quantile))
	return time.Duration(min(max(learned, float64(r.Floor)), float64(r.Most)))
}

// The answers from which a figure of a class is known.
const (
	lateAnswers  = 20  // of a mean lateness
	hedgeAnswers = 100 // of a percentile
)

// Late is the mean time by which an answer to such a request begins after a deadline. It is not known before 20 answers.
func (e *Expert) Late(stream bool, tokens int, deadline time.Duration) (_ time.Duration, known bool) {
	c, unlock := e.known(stream, tokens, lateAnswers)
	defer unlock()
	if c == nil {
		return 0, false
	}
	return c.begins.beyond(deadline), true
}

// Quantile is the time within which a share of the answers to such requests begin. It is not known before 100 answers.
func (e *Expert) Quantile(stream bool, tokens int, share float64) (_ time.Duration, known bool) {
	c, unlock := e.known(stream, tokens, hedgeAnswers)
	defer unlock()
	if c == nil {
		return 0, false
	}
	return c.begins.quantile(share), true
}

// known locks the expert and returns a class with enough answers, or nil.
func (e *Expert) known(stream bool, tokens, answers int) (_ *cell, unlock func()) {
	if e == nil {
		return nil, func() {}
	}
	e.mu.Lock()
	if c := e.cells[keyOf(stream, tokens)]; c != nil && c.begins.n >= answers {
		return c, e.mu.Unlock
	}
	return nil, e.mu.Unlock
}

// State is what is known about a class of calls.
type State struct {
	Expert    string
	Stream    bool    // until the first content of a stream, not until a whole answer
	Tokens    int     // prompts of at most so many; 0: all longer ones
	Answers   int     // ever
	Median    float64 // seconds until the answer begins; 0 without answers
	P95       float64
	P99       float64
	Allowance float64 // seconds of silence; 0: the flat timeouts hold
	Known     bool    // the allowance was learned
	Slow      int64   // calls of the expert, of all classes, that were cut for their own silence
	Silent    int64   // calls that were cut because the expert was silent on all newer calls
}

// States returns what is known, by expert, kind and length. A nil learner knows nothing.
func (l *Learner) States() (list []State) {
	if l == nil {
		return nil
	}
	r := l.rules.Load()
	for _, e := range l.all() {
		list = append(list, e.states(r)...)
	}
	return list
}

func (e *Expert) states(r *rules) (list []State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, stream := range []bool{true, false} {
		for k := range len(lengths) + 1 {
			c := e.cells[cellKey{stream, k}]
			if c == nil {
				continue
			}
			s := State{Expert: e.name, Stream: stream, Tokens: tokensOf(k), Answers: c.begins.n, Slow: e.slow, Silent: e.silent}
			if s.Answers > 0 {
				s.Median, s.P95, s.P99 = c.begins.quantile(0.5).Seconds(), c.begins.quantile(0.95).Seconds(), c.begins.quantile(0.99).Seconds()
			}
			if r.cuts {
				s.Allowance, s.Known = c.allowance(r).Seconds(), c.silence.n >= r.Answers
			}
			list = append(list, s)
		}
	}
	return list
}

// tokensOf is the end of a class in tokens, 0 for the last one.
func tokensOf(k int) int {
	if k == len(lengths) {
		return 0
	}
	return lengths[k]
}

// Close writes the file, and ends the work in the background.
func (l *Learner) Close() error {
	if l == nil || l.file == "" {
		return nil
	}
	close(l.stop)
	l.done.Wait()
	return l.save()
}
