package decisionlog

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/filelock"
)

// Writer appends to a log. It is safe for concurrent use.
type Writer struct {
	folder   string
	settings Settings
	lock     *filelock.Lock
	records  *stream
	outcomes *stream
	start    time.Time // of the writer, by the clock of then: ages do not follow later jumps of the clock

	mu          sync.Mutex
	policies    map[string]*PolicyInfo
	queue       *batch // records that are not yet in the segment
	recent      recent // ids of the last records that were queued
	spare       *batch // memory for the next queue, or nil
	writing     *batch // the batch that is being written; kept while writing fails
	closed      bool
	failure     error // why nothing can be written, nil while it works
	stats       Stats
	syncFailure error     // why the last sync failed, nil if it did not
	syncing     time.Time // when the oldest record came that is being made durable; zero if there is none
	unsynced    time.Time // when the oldest record came that was written since; zero if there is none

	writes   sync.Mutex // held while the queue is written
	outcome  sync.Mutex // held from the check of an outcome until it is written
	wake     chan struct{}
	convert  chan struct{}
	done     chan struct{}
	finished sync.WaitGroup
}

// batch is a run of lines.
type batch struct {
	lines   []byte
	entries []entry
	first   time.Time // when the first record came
}

// recent is a set of the last ids. It forgets the older half at a time, so it has at least half as many ids as there is room
// for.
type recent struct{ now, before map[uint64]bool }

const recentRoom = 1 << 17

func (r *recent) add(hash uint64) {
	if len(r.now) >= recentRoom || r.now == nil {
		// Reuse the memory of the half that is forgotten.
		r.now, r.before = r.before, r.now
		if clear(r.now); r.now == nil {
			r.now = make(map[uint64]bool)
		}
	}
	r.now[hash] = true
}

func (r *recent) has(hash uint64) bool { return r.now[hash] || r.before[hash] }

// Stats are the counts since the writer was opened, and its state.
type Stats struct {
	Records    int64         `json:"records"`    // written
	Bytes      int64         `json:"bytes"`      // written to open segments
	Queued     int           `json:"queued"`     // records that wait for the disk
	Dropped    int64         `json:"dropped"`    // records that were lost: nothing could be written, or they contradict themselves
	Sampled    int64         `json:"sampled"`    // records that sampling left out
	Outcomes   int64         `json:"outcomes"`   // written
	Duplicates int64         `json:"duplicates"` // outcomes that were known
	Errors     int64         `json:"errors"`     // failed writes
	LastError  string        `json:"last_error"` // of them and of refused records, "" if there was none
	Stopped    bool          `json:"stopped"`    // nothing can be written now
	Lag        time.Duration `json:"lag"`        // age of the oldest record that is not yet durable
	Segments   int           `json:"segments"`   // of decisions, the open one included
	Unfinished int           `json:"unfinished"` // closed segments that are not yet Parquet
	Removed    int64         `json:"removed"`    // segments that were removed by age or size
	Recovered  Damage        `json:"recovered"`  // lines that another run left half written
}

// Open opens the log in a folder, which is made if necessary, and finishes what a killed run left. One writer per folder:
// if another one has it, the error is a *filelock.InUseError.
func Open(folder string, s Settings) (*Writer, error) {
	w, err := openWith(folder, s, openLines)
	if err != nil {
		return nil, fmt.Errorf("open decision log %q: %w", folder, err)
	}
	return w, nil
}

func openWith(folder string, s Settings, open func(string) (lineFile, error)) (*Writer, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	lock, err := filelock.Folder(folder, atomicfile.MkdirAll)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		folder: folder, settings: s, lock: lock, start: time.Now(), policies: map[string]*PolicyInfo{}, queue: &batch{},
		wake: make(chan struct{}, 1), convert: make(chan struct{}, 1), done: make(chan struct{}),
	}
	for name, to := range map[string]**stream{decisions: &w.records, outcomes: &w.outcomes} {
		*to = &stream{folder: folder, name: name, open: open, bytes: s.SegmentBytes, age: s.SegmentAge}
		if err := (*to).recover(); err != nil {
			return nil, errors.Join(err, lock.Release())
		}
		w.stats.Recovered.add((*to).damage)
	}
	w.finished.Go(w.work)
	w.finished.Go(w.flush)
	w.finished.Go(w.convertAll)
	poke(w.convert)
	return w, nil
}

// Policy gives the log the names and fees of a version of a policy. It must be called before the first record of that version.
func (w *Writer) Policy(about PolicyInfo) error {
	if err := about.check(); err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.policies[about.Digest] = &about
	return nil
}

// Add queues a record and does not wait for the disk. It does not keep r. Long names and too many calls are cut and marked.
// A record that contradicts itself is a *[RecordError] and is counted as dropped. If the record cannot be kept because the disk is full or too slow, it is counted as dropped; with
// Settings.OnFull stop, Add returns a *[StoppedError] or [ErrFull] as well.
func (w *Writer) Add(r *Record) error {
	w.mu.Lock()
	p := w.policies[r.Digest]
	w.mu.Unlock()
	if p == nil {
		return w.refuse(&RecordError{ID: r.ID, Field: "digest", Msg: fmt.Sprintf("%q is of no policy that the log was told of", r.Digest)})
	}
	c := *r
	c.bound()
	if c.Keep = w.settings.Sample; c.IsPanel() {
		c.Keep *= r.Keep
	}
	if err := c.Check(p); err != nil {
		return w.refuse(err)
	}
	hash := hashOf(r.ID)
	if !kept(hash, w.settings.Sample) {
		w.mu.Lock()
		w.stats.Sampled++
		w.mu.Unlock()
		return nil
	}
	w.reduce(&c)
	e := encoders.Get().(*encoder)
	e.line = e.records.append(e.line[:0], &c)
	err := w.put(e.line, entry{id: r.ID, hash: hash, time: r.Time, digest: r.Digest})
	encoders.Put(e)
	return err
}

// refuse counts a record that the log does not take.
func (w *Writer) refuse(err error) error {
	w.counts(func(s *Stats) {
		s.Dropped++
		s.LastError = err.Error()
	})
	return err
}

// encoder is memory for encoding.
type encoder struct {
	line    []byte
	records *lineWriter
}

var encoders = sync.Pool{New: func() any { return &encoder{records: newLineWriter()} }}

// reduce keeps what the settings ask for.
func (w *Writer) reduce(r *Record) {
	switch w.settings.Features {
	case DigestFeatures:
		if r.FeaturesDigest == "" && r.Features != nil {
			r.FeaturesDigest = FeaturesDigest(r.Features)
		}
		r.Features = nil
	case NoFeatures:
		r.Features, r.FeaturesDigest = nil, ""
	}
}

// FeaturesDigest is the digest of features: of their little-endian bytes.
func FeaturesDigest(features []float32) string {
	e := encoders.Get().(*encoder)
	e.line = floatBytes(e.line[:0], features)
	out := digest.Of(e.line)
	encoders.Put(e)
	return out
}

// put appends a line to the queue.
func (w *Writer) put(line []byte, e entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	stop := w.settings.OnFull == Stop
	switch {
	case w.closed:
		return ErrClosed
	case w.recent.has(e.hash):
		return &DuplicateError{ID: e.id}
	case stop && w.broken() != nil:
		w.stats.Dropped++
		return &StoppedError{w.broken()}
	case len(w.queue.lines)+len(line) > w.settings.QueueBytes:
		w.stats.Dropped++
		if stop {
			return ErrFull
		}
		return nil
	}
	q := w.queue
	if len(q.entries) == 0 {
		q.first = time.Now()
		poke(w.wake)
	}
	q.lines = append(q.lines, line...)
	q.entries = append(q.entries, e)
	w.recent.add(e.hash)
	return nil
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Ready is nil if the next record can be kept, and the error of Add otherwise. With Settings.OnFull continue it is always
// nil.
func (w *Writer) Ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return ErrClosed
	case w.settings.OnFull == Stop && w.broken() != nil:
		return &StoppedError{w.broken()}
	}
	return nil
}

// broken is why nothing can be written or made durable.
func (w *Writer) broken() error {
	if w.failure != nil {
		return w.failure
	}
	return w.syncFailure
}

// Stats returns the counts and the state.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	s := w.stats
	s.Queued = len(w.queue.entries)
	if w.writing != nil {
		s.Queued += len(w.writing.entries)
	}
	s.Stopped = w.broken() != nil
	if oldest := w.oldest(); !oldest.IsZero() {
		s.Lag = time.Since(oldest)
	}
	w.mu.Unlock()
	s.Segments, s.Unfinished = w.records.count()
	return s
}

// oldest is when the oldest record came that is not yet durable.
func (w *Writer) oldest() time.Time {
	switch {
	case !w.syncing.IsZero():
		return w.syncing
	case !w.unsynced.IsZero():
		return w.unsynced
	case w.writing != nil:
		return w.writing.first
	case len(w.queue.entries) > 0:
		return w.queue.first
	}
	return time.Time{}
}

// Close writes what is queued, turns the open segments into Parquet, and ends the writer. It is idempotent.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	close(w.done)
	w.finished.Wait()
	w.outcome.Lock()
	defer w.outcome.Unlock()
	err := w.write()
	w.mu.Lock()
	for _, b := range []*batch{w.queue, w.writing} {
		if b != nil {
			w.stats.Dropped += int64(len(b.entries))
		}
	}
	w.mu.Unlock()
	for _, s := range []*stream{w.records, w.outcomes} {
		s.sealAll()
		err = errors.Join(err, s.sync(), s.finish())
	}
	if err = errors.Join(err, w.lock.Release()); err != nil {
		return fmt.Errorf("close decision log %q: %w", w.folder, err)
	}
	return nil
}
