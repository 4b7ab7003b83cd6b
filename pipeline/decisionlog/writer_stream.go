package decisionlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"pipe/internal/atomicfile"
)

// lineFile is an open segment. Tests replace it by one that fails.
type lineFile interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Close() error
}

func openLines(path string) (lineFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
}

// stream appends lines to the open segment of one stream, and knows the ids of all segments. It is safe for concurrent
// use.
type stream struct {
	folder string
	name   string
	open   func(path string) (lineFile, error)
	bytes  int64         // a segment is closed when it is larger
	age    time.Duration // or older

	mu       sync.Mutex
	next     int // number of the next segment
	file     lineFile
	segment  *segment // that is open; nil if none is
	size     int64    // of the file, up to the last whole line
	started  time.Time
	unsynced bool
	unclosed []lineFile // of segments that ended since the last sync
	span     *span
	has      map[string]bool // digests of policies in the open segment
	sealed   []*closedSegment
	closed   []*closedSegment
	damage   Damage // of segments that were left by another run
}

// closedSegment is a segment that is not written any more. Its span has no hashes once its index is on disk.
type closedSegment struct {
	*segment
	span *span
}

// entry describes one line of a batch.
type entry struct {
	id      string
	hash    uint64
	content uint64
	time    int64
	digest  string // of the policy; "" for outcomes
}

// append writes whole lines and what they need before them. Either all of them are in the segment, or none.
func (s *stream) append(lines []byte, entries []entry, policy func(digest string) *PolicyInfo) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	before, added, err := s.policies(entries, policy)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{before, lines} {
		if len(part) == 0 {
			continue
		}
		if _, err := s.file.Write(part); err != nil {
			return s.undo(err)
		}
	}
	s.size += int64(len(before) + len(lines))
	s.unsynced = true
	for _, digest := range added {
		s.has[digest] = true
	}
	for _, e := range entries {
		s.span.add(e.id, e.hash, e.content, e.time)
	}
	return nil
}

// policies are the lines of the policies that the entries need and the segment does not have yet.
func (s *stream) policies(entries []entry, policy func(digest string) *PolicyInfo) (lines []byte, added []string, err error) {
	if s.size == 0 {
		lines = appendHead(nil, s.name, s.segment.number)
	}
	last := ""
	for _, e := range entries {
		if e.digest == last || e.digest == "" || s.has[e.digest] {
			continue
		}
		last = e.digest
		if lines, err = appendPolicy(lines, policy(e.digest)); err != nil {
			return nil, nil, err
		}
		added = append(added, e.digest)
	}
	return lines, added, nil
}

// undo cuts off what a failed write left. If that fails too, the segment ends: its torn end is left out by readers.
func (s *stream) undo(err error) error {
	if cut := s.file.Truncate(s.size); cut != nil {
		s.seal()
		return errors.Join(err, cut)
	}
	return err
}

// begin opens the next segment.
func (s *stream) begin() error {
	at := &segment{folder: s.folder, stream: s.name, number: s.next, lines: true}
	file, err := s.open(at.path(linesEnding))
	if err != nil {
		return err
	}
	s.next++
	s.file, s.segment, s.size, s.started = file, at, 0, time.Now()
	s.span, s.has = &span{}, map[string]bool{}
	return atomicfile.SyncFolder(s.folder)
}

// sync makes everything durable that was appended before. Appending goes on meanwhile.
func (s *stream) sync() error {
	s.mu.Lock()
	file, old := s.file, s.unclosed
	s.unclosed = nil
	if !s.unsynced {
		file = nil
	}
	s.unsynced = false
	s.mu.Unlock()
	var all []error
	for _, f := range old {
		all = append(all, f.Sync(), f.Close())
	}
	if file != nil {
		if err := file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
			// What was written since the last sync may be lost, and a second sync would not say so.
			all = append(all, err)
			s.mu.Lock()
			if s.file == file {
				s.seal()
			}
			s.mu.Unlock()
		}
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("sync %s: %w", s.name, err)
	}
	return nil
}

// seal ends the open segment, to become Parquet. The next sync makes it durable and closes its file.
func (s *stream) seal() {
	if s.file == nil {
		return
	}
	s.unclosed = append(s.unclosed, s.file)
	s.sealed = append(s.sealed, &closedSegment{s.segment, s.span})
	s.file, s.segment, s.unsynced = nil, nil, false
}

// sealFull ends the open segment if it is large or old enough.
func (s *stream) sealFull() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil && (s.size >= s.bytes || time.Since(s.started) >= s.age) {
		s.seal()
	}
}

// sealAll ends the open segment.
func (s *stream) sealAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seal()
}

// find looks an id up in all segments.
func (s *stream) find(id string, hash uint64) (content uint64, found bool, err error) {
	s.mu.Lock()
	if s.file != nil {
		if content, found = s.span.Hashes[hash]; found {
			s.mu.Unlock()
			return content, true, nil
		}
	}
	var candidates []closedSegment // copies, because their hashes go when their index is written
	for _, list := range [][]*closedSegment{s.closed, s.sealed} {
		for _, c := range list {
			if c.span.mayHave(id) {
				candidates = append(candidates, *c)
			}
		}
	}
	s.mu.Unlock()
	for i := len(candidates) - 1; i >= 0; i-- {
		content, found, err = candidates[i].lookup(hash)
		if found || err != nil && !gone(err) {
			return content, found, err
		}
	}
	return 0, false, nil
}

// lookup looks a hash up in a closed segment.
func (c *closedSegment) lookup(hash uint64) (content uint64, found bool, err error) {
	if c.span.Hashes != nil {
		content, found = c.span.Hashes[hash]
		return content, found, nil
	}
	return c.findInIndex(hash)
}
