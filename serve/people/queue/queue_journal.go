package queue

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/filelock"
)

// record is a line of the journal: what an item and totals became.
type record struct {
	Item  *Item                               `json:"item,omitempty"` // question and note only the first time
	Used  map[string]map[string]time.Duration `json:"used,omitempty"` // in nanoseconds
	Times map[string]Times                    `json:"times,omitempty"`
	Debt  map[string]float64                  `json:"debt,omitempty"`
	At    time.Time                           `json:"at,omitzero"` // when Debt was so; it falls due from then on
}

const (
	fileName = "journal.jsonl"
	header   = "pipe people 2\n"
	// growth is how much longer than at its begin a journal may get before it is replaced.
	growth = 1 << 20
)

// Open opens the queue in a folder, which is locked until Close. Without a folder it is in memory only. The caller holds the lock.
func Open(folder string, s Settings, held sync.Locker) (*Queue, error) {
	q := &Queue{Settings: s, Sync: (*os.File).Sync, held: held, state: state{
		items: map[string]*Item{}, keys: map[[2]string]string{}, used: map[string]map[string]time.Duration{}, times: map[string]Times{}, debt: map[string]float64{},
	}}
	if folder == "" {
		return q, nil
	}
	var err error
	if q.folder, err = filelock.Folder(folder, ownFolder); err != nil {
		return nil, err
	}
	q.path = filepath.Join(folder, fileName)
	if err := q.open(); err != nil {
		return nil, errors.Join(err, q.folder.Release())
	}
	return q, nil
}

// ownFolder makes the folder for its owner alone, since questions can be private.
func ownFolder(path string) (made bool, err error) {
	if made, err = atomicfile.MkdirAll(path); made && err == nil {
		err = os.Chmod(path, 0o700)
	}
	return made, err
}

// open reads the journal, removes what follows the last whole line, and opens it for appending.
func (q *Queue) open() error {
	err := q.read()
	if errors.Is(err, fs.ErrNotExist) {
		return q.Compact()
	}
	if err != nil {
		return err
	}
	if q.file, err = os.OpenFile(q.path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	q.least = q.size
	return errors.Join(q.file.Truncate(q.size), q.file.Sync())
}

// read reads the journal up to a last line that a kill left half written.
func (q *Queue) read() error {
	f, err := os.Open(q.path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if line, err := in.ReadString('\n'); err != nil || line != header {
		return fmt.Errorf("%q is not a journal of pipe serve", q.path)
	}
	q.size = int64(len(header))
	for n := 2; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // with what may be half a line, which was never reported
		}
		if err != nil {
			return err
		}
		err = q.take(line)
		if _, more := in.Peek(1); errors.Is(err, errSum) && errors.Is(more, io.EOF) {
			return nil // a last line that a power cut left behind, which was never reported either
		}
		if err != nil {
			return fmt.Errorf("%q: line %d cannot be read: %w; restore the file, or move it away to begin with an empty queue", q.path, n, err)
		}
	}
}

var (
	checksums = crc32.MakeTable(crc32.Castagnoli)
	errSum    = errors.New("its checksum is wrong")
)

// line writes a record after a line with a checksum: the checksum of both, a space, JSON. So no line can be lost, changed or doubled.
func (r *record) line(last uint32) (line []byte, sum uint32, err error) {
	text, err := json.Marshal(r)
	sum = crc32.Update(last, checksums, text)
	return fmt.Appendf(nil, "%08x %s\n", sum, text), sum, err
}

// take reads the next line.
func (q *Queue) take(line []byte) error {
	sum, text, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || crc32.Update(q.sum, checksums, text) != uint32(want) {
		return errSum
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return err
	}
	q.size, q.sum = q.size+int64(len(line)), uint32(want)
	return q.apply(r)
}

// apply takes over a record. It does the same for a change and when the journal is read.
func (s *state) apply(r *record) error {
	if r.Debt != nil {
		s.debt, s.debtAt = r.Debt, r.At
	}
	maps.Copy(s.times, r.Times)
	for person, days := range r.Used {
		if s.used[person] == nil {
			s.used[person] = map[string]time.Duration{}
		}
		maps.Copy(s.used[person], days)
	}
	i := r.Item
	if i == nil {
		return nil
	}
	before := s.items[i.ID]
	if before != nil {
		i.Question, i.Note = before.Question, before.Note
	}
	if i.ID == "" || i.Question == nil || before != nil && before.finished() != nil {
		return errors.New("an item without an id or a question, or one that was finished")
	}
	s.items[i.ID] = i
	if i.Key != "" {
		s.keys[[2]string{i.From, i.Key}] = i.ID
	}
	at := slices.Index(s.waiting, before)
	switch {
	case i.finished() == nil && at >= 0:
		s.waiting[at] = i
	case i.finished() == nil:
		s.waiting = append(s.waiting, i)
	default:
		if at >= 0 {
			s.waiting = slices.Delete(s.waiting, at, at+1)
		}
		s.done = append(s.done, i)
	}
	return nil
}

// change is what an item becomes, and what is added to totals.
type change struct {
	item Item
	at   time.Time
	used time.Duration // by the person of the claim, on its day
	work float64       // seconds that were sent to the expert
}

// record is the change as a line.
func (q *Queue) record(c change) *record {
	r := &record{Item: &c.item}
	if q.items[c.item.ID] != nil {
		r.Item.Question, r.Item.Note = nil, nil
	}
	if c.used != 0 {
		of := c.item.Claim
		r.Used = map[string]map[string]time.Duration{of.Person: {of.Day: q.Used(of.Person, of.Day) + c.used}}
	}
	if c.work != 0 {
		r.Debt, r.At = maps.Clone(q.debt), q.debtAt
		r.Debt[c.item.Expert] = max(0, r.Debt[c.item.Expert]+c.work)
	}
	if c.item.Answer != nil {
		t := q.times[c.item.Expert]
		r.Times = map[string]Times{c.item.Expert: {forget*t.Answers + 1, forget*t.Seconds + c.item.Answer.Seconds}}
	}
	return r
}

// commit puts a change on disk and makes it. After an error of the disk nothing changes any more: whether the line is there will be
// known when the journal is read again.
func (q *Queue) commit(c change) (*Item, error) {
	if q.failure != nil {
		return nil, q.failure
	}
	r := q.record(c)
	if q.file != nil {
		if q.failure = q.unlocked(func() error { return q.write(r) }); q.failure != nil {
			return nil, q.failure
		}
	}
	if err := q.apply(r); err != nil {
		return nil, err
	}
	q.tidy(c.at)
	if q.file != nil && q.size > 2*q.least+growth {
		q.failure = q.Compact() // the change is on disk; the next one reports the failure
	}
	return r.Item, nil
}

// unlocked does something while others may look at the queue.
func (q *Queue) unlocked(do func() error) error {
	q.held.Unlock()
	defer q.held.Lock()
	return do()
}

// write appends a line. When it returns, the line is on disk.
func (q *Queue) write(r *record) error {
	line, sum, err := r.line(q.sum)
	if err == nil {
		_, err = q.file.Write(line)
	}
	if err == nil {
		err = q.Sync(q.file)
	}
	q.size, q.sum = q.size+int64(len(line)), sum
	return err
}

// Compact replaces the journal by one that has only the state.
func (q *Queue) Compact() error {
	all := []*record{{Used: q.used, Times: q.times, Debt: q.debt, At: q.debtAt}}
	for _, list := range [][]*Item{q.done, q.waiting} {
		for _, i := range list {
			all = append(all, &record{Item: i})
		}
	}
	return q.unlocked(func() error { return q.replace(all) })
}

// replace replaces the journal by one with these lines.
func (q *Queue) replace(all []*record) error {
	size, sum := len(header), uint32(0)
	err := atomicfile.Write(q.path, func(w io.Writer) error {
		_, err := io.WriteString(w, header)
		for _, r := range all {
			var line []byte
			if err == nil {
				line, sum, err = r.line(sum)
			}
			if err == nil {
				_, err = w.Write(line)
			}
			size += len(line)
		}
		return err
	})
	if err != nil {
		return err
	}
	if q.file != nil {
		_ = q.file.Close() // every line was synced
	}
	q.file, err = os.OpenFile(q.path, os.O_WRONLY|os.O_APPEND, 0)
	q.size, q.least, q.sum = int64(size), int64(size), sum
	return err
}

// Close closes the journal and frees the folder.
func (q *Queue) Close() error {
	if q.path == "" {
		return nil
	}
	return errors.Join(q.file.Close(), q.folder.Release())
}
