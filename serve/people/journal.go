package people

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
	"strings"
	"sync"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/filelock"
)

// journal has the items, also on disk. Its methods need its lock, which a change lets go of while the disk works: others look at the
// state as it was then. One change is made at a time.
type journal struct {
	state
	held    sync.Locker            // the lock
	sync    func(f *os.File) error // puts the file on disk
	file    *os.File               // open for appending; nil: in memory only
	folder  *filelock.Lock
	path    string
	size    int64  // of the file
	least   int64  // its size after it was last replaced
	cut     int64  // bytes of a last line that was not whole when the file was opened
	sum     uint32 // of its last line
	failure error  // of the disk: what the file has is not known, so nothing changes any more
}

// state is what the journal says.
type state struct {
	items   map[string]*Item
	waiting []*Item                             // not finished, in the order in which they were put
	done    []*Item                             // finished, in the order of their end
	keys    map[[2]string]string                // ids by caller and key
	used    map[string]map[string]time.Duration // by person and day; a claim counts as the whole time that it can last
	times   map[string]times                    // by expert
	debt    map[string]time.Duration            // by expert: work that was sent and has not fallen due; replaced, not changed
	debtAt  time.Time                           // when that was so
}

// times says how long the answers of an expert took. Later answers weigh more.
type times struct {
	Answers float64 `json:"answers"` // sum of the weights
	Seconds float64 `json:"seconds"` // weighted sum
}

// forget is the weight that an answer loses with each later one: the last hundred or so count.
const forget = 0.99

// record is a line: what an item and totals became. Times are in nanoseconds.
type record struct {
	Item  *Item                               `json:"item,omitempty"` // question and note only the first time
	Used  map[string]map[string]time.Duration `json:"used,omitempty"`
	Times map[string]times                    `json:"times,omitempty"`
	Debt  map[string]time.Duration            `json:"debt,omitempty"`
	At    time.Time                           `json:"at,omitzero"` // when Debt was so; it falls due from then on
}

const (
	fileName = "journal.jsonl"
	format   = "pipe people "
	header   = format + "2\n" // the first line
	// growth is how much longer than at its begin a file may get before it is replaced.
	growth = 1 << 20
)

// openJournal opens the journal of a folder, which is locked until close. Without a folder it is in memory only. The caller holds the lock.
func openJournal(folder string, held sync.Locker) (*journal, error) {
	q := &journal{sync: (*os.File).Sync, held: held, state: state{
		items: map[string]*Item{}, keys: map[[2]string]string{}, used: map[string]map[string]time.Duration{}, times: map[string]times{}, debt: map[string]time.Duration{},
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

// open reads the file, removes what follows the last whole line, and opens it for appending.
func (q *journal) open() error {
	err := q.read()
	if errors.Is(err, fs.ErrNotExist) {
		return q.compact()
	}
	if err != nil {
		return err
	}
	if q.file, err = os.OpenFile(q.path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	info, err := q.file.Stat()
	if err != nil {
		return errors.Join(err, q.file.Close())
	}
	q.least, q.cut = q.size, info.Size()-q.size
	return errors.Join(q.file.Truncate(q.size), q.file.Sync())
}

// read reads the file up to a last line that a kill left half written.
func (q *journal) read() error {
	f, err := os.Open(q.path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	switch line, err := in.ReadString('\n'); {
	case err == nil && line != header && strings.HasPrefix(line, format):
		return fmt.Errorf("%q was written by another version of pipe serve (its first line is %q, not %q): have its items answered or withdrawn under that version, and then move the file away", q.path, strings.TrimSpace(line), strings.TrimSpace(header))
	case err != nil || line != header:
		return fmt.Errorf("%q is not a journal of pipe serve", q.path)
	}
	q.size = int64(len(header))
	for n := 2; ; n++ {
		line, err := in.ReadBytes('\n')
		if err == nil {
			err = q.take(line)
		}
		_, more := in.Peek(1)
		switch torn := errors.Is(err, io.EOF) || errors.Is(err, errSum) && errors.Is(more, io.EOF); {
		case torn && n > 2: // the end, or what a kill or a power cut left of a line, which was never reported; the totals are written whole
			return nil
		case err != nil:
			return fmt.Errorf("%q: line %d cannot be read: %w; restore the file, or move it away to begin with an empty queue", q.path, n, err)
		}
	}
}

var (
	checksums = crc32.MakeTable(crc32.Castagnoli)
	errSum    = errors.New("its checksum is wrong")
)

// take reads the next line.
func (q *journal) take(line []byte) error {
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

// apply takes over a record. It does the same for a change and when the file is read.
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

// more is what a change adds to totals.
type more struct {
	used time.Duration // by the person of the claim, on its day
	work time.Duration // that was sent to the expert
}

// record is a change as a line.
func (q *journal) record(i Item, m more) *record {
	r := &record{Item: &i}
	if q.items[i.ID] != nil {
		i.Question, i.Note = nil, nil
	}
	if c := i.Claim; m.used != 0 {
		r.Used = map[string]map[string]time.Duration{c.Person: {c.Day: q.used[c.Person][c.Day] + m.used}}
	}
	if m.work != 0 {
		r.Debt, r.At = maps.Clone(q.debt), q.debtAt
		r.Debt[i.Expert] = max(0, r.Debt[i.Expert]+m.work)
	}
	if i.Answer != nil {
		t := q.times[i.Expert]
		r.Times = map[string]times{i.Expert: {forget*t.Answers + 1, forget*t.Seconds + i.Answer.Seconds}}
	}
	return r
}

// commit puts a change on disk and makes it. After an error of the disk nothing changes any more: whether the line is there will be
// known when the file is read again.
func (q *journal) commit(i Item, m more) (*Item, error) {
	if q.failure != nil {
		return nil, q.failure
	}
	r := q.record(i, m)
	if q.file != nil {
		if q.failure = q.unlocked(func() error { return q.write(r) }); q.failure != nil {
			return nil, q.failure
		}
	}
	return r.Item, q.apply(r)
}

// shorten replaces a file that has grown. The changes are on disk; the next one reports a failure.
func (q *journal) shorten() {
	if q.file != nil && q.failure == nil && q.size > 2*q.least+growth {
		q.failure = q.compact()
	}
}

// unlocked does something while others may look at the state.
func (q *journal) unlocked(do func() error) error {
	q.held.Unlock()
	defer q.held.Lock()
	return do()
}

// write puts a line on disk.
func (q *journal) write(r *record) error {
	if err := q.append(q.file, r); err != nil {
		return err
	}
	return q.sync(q.file)
}

// append appends a line: a checksum, a space, JSON. The checksum is that of all lines up to this one, so none can be lost, changed or
// doubled.
func (q *journal) append(w io.Writer, r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	q.sum = crc32.Update(q.sum, checksums, text)
	n, err := fmt.Fprintf(w, "%08x %s\n", q.sum, text)
	q.size += int64(n)
	return err
}

// compact replaces the file by one that has only the state.
func (q *journal) compact() error {
	all := []*record{{Used: q.used, Times: q.times, Debt: q.debt, At: q.debtAt}}
	for _, list := range [][]*Item{q.done, q.waiting} {
		for _, i := range list {
			all = append(all, &record{Item: i})
		}
	}
	return q.unlocked(func() error { return q.replace(all) })
}

// replace replaces the file by one with these lines.
func (q *journal) replace(all []*record) error {
	q.size, q.sum = int64(len(header)), 0
	err := atomicfile.Write(q.path, func(w io.Writer) error {
		_, err := io.WriteString(w, header)
		for i := 0; i < len(all) && err == nil; i++ {
			err = q.append(w, all[i])
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
	q.least = q.size
	return err
}

// close closes the file and frees the folder.
func (q *journal) close() error {
	if q.path == "" {
		return nil
	}
	return errors.Join(q.file.Close(), q.folder.Release())
}

// tidy forgets finished items that need not be kept, and time that was used more than five weeks ago.
func (q *journal) tidy(now time.Time, most int, keep time.Duration) {
	n := max(0, len(q.done)-most)
	for n < len(q.done) && now.Sub(*q.done[n].finished()) > keep {
		n++
	}
	for _, i := range q.done[:n] {
		delete(q.items, i.ID)
		if key := [2]string{i.From, i.Key}; q.keys[key] == i.ID {
			delete(q.keys, key)
		}
	}
	q.done = slices.Delete(q.done, 0, n)
	oldest := now.AddDate(0, 0, -35).Format(time.DateOnly)
	for _, days := range q.used {
		maps.DeleteFunc(days, func(day string, _ time.Duration) bool { return day < oldest })
	}
}
