package queue

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/filelock"
)

// record is a line of the journal: a change, or a part of the state at its begin.
type record struct {
	Op     op                                  `json:"op"`
	At     time.Time                           `json:"at"`
	ID     string                              `json:"id,omitempty"`
	Item   *Item                               `json:"item,omitempty"`
	Claim  *Claim                              `json:"claim,omitempty"`
	Answer *Answer                             `json:"answer,omitempty"`
	Debt   map[string]time.Duration            `json:"debt,omitempty"`
	DebtAt time.Time                           `json:"debt_at,omitzero"` // when Debt was so; it falls due from then on
	Used   map[string]map[string]time.Duration `json:"used,omitempty"`
	Times  map[string]Times                    `json:"times,omitempty"`
}

type op string

const (
	opState    op = "state" // the totals before the journal
	opItem     op = "item"  // an item with all that became of it before the journal
	opPut      op = "put"
	opClaim    op = "claim"
	opAnswer   op = "answer"
	opBack     op = "back"
	opWithdraw op = "withdraw"
)

const (
	fileName = "journal.jsonl"
	header   = "pipe people 1\n"
	// growth is how much longer than at its begin a journal may get before it is replaced.
	growth = 1 << 20
)

// newName is a name that nobody can guess.
func newName() string { return strings.ToLower(rand.Text()) }

// Open opens the queue in a folder, which is locked until Close. Without a folder it is in memory only.
func Open(folder string, s Settings) (*Queue, error) {
	q := &Queue{settings: s, state: newState()}
	if folder == "" {
		return q, nil
	}
	lock, err := filelock.Folder(folder, ownFolder)
	if err != nil {
		return nil, err
	}
	q.lock, q.path = lock, filepath.Join(folder, fileName)
	if err := q.open(); err != nil {
		return nil, errors.Join(err, lock.Release())
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

// open reads the journal and opens it for appending.
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
	return q.cut()
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
		r, err := parse(line)
		if _, more := in.Peek(1); errors.Is(err, errSum) && errors.Is(more, io.EOF) {
			return nil // a last line that a power cut left behind, which was never reported either
		}
		if err == nil {
			err = q.apply(r)
		}
		if err != nil {
			return fmt.Errorf("%q: line %d cannot be read: %w; restore the file, or move it away to begin with an empty queue", q.path, n, err)
		}
		q.size += int64(len(line))
	}
}

// cut removes what follows the last whole line.
func (q *Queue) cut() error {
	if err := q.file.Truncate(q.size); err != nil {
		return err
	}
	return q.file.Sync()
}

var checksums = crc32.MakeTable(crc32.Castagnoli)

// line writes a record: its checksum, a space, JSON.
func (r *record) line() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, checksums), text), nil
}

var errSum = errors.New("its checksum is wrong")

// parse reads a line.
func parse(line []byte) (*record, error) {
	sum, text, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !ok || err != nil || uint64(crc32.Checksum(text, checksums)) != want {
		return nil, errSum
	}
	r := &record{}
	return r, json.Unmarshal(text, r)
}

// commit puts a change on disk and makes it. After an error of the disk nothing changes any more: whether the line is there will be
// known when the journal is read again.
func (q *Queue) commit(r *record) error {
	if q.failure != nil {
		return q.failure
	}
	if r.Debt != nil {
		r.DebtAt = q.debtAt
	}
	if q.path != "" {
		line, err := r.line()
		if err != nil {
			return err
		}
		if _, err = q.file.Write(line); err == nil {
			err = q.file.Sync()
		}
		if err != nil {
			q.failure = fmt.Errorf("the queue of people cannot be written: %w", err)
			return q.failure
		}
		q.size += int64(len(line))
	}
	if err := q.apply(r); err != nil {
		return err
	}
	q.Tidy(r.At)
	if q.path != "" && q.size > 2*q.least+growth {
		if err := q.Compact(); err != nil { // the change is on disk; the next one reports the failure
			q.failure = err
		}
	}
	return nil
}

// Failed returns why nothing can be changed any more; nil: all is well.
func (q *Queue) Failed() error { return q.failure }

// Compact replaces the journal by one that has only the state.
func (q *Queue) Compact() error {
	size := int64(0)
	err := atomicfile.Write(q.path, func(w io.Writer) error {
		n, err := io.WriteString(w, header)
		size = int64(n)
		first := record{Op: opState, At: q.debtAt, Debt: q.debt, DebtAt: q.debtAt, Used: q.used, Times: q.times}
		for _, r := range append([]*record{&first}, q.itemRecords()...) {
			if err != nil {
				break
			}
			var line []byte
			if line, err = r.line(); err == nil {
				n, err = w.Write(line)
				size += int64(n)
			}
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
	q.size, q.least = size, size
	return err
}

// itemRecords are the items in the order in which they are added.
func (q *Queue) itemRecords() (all []*record) {
	for _, list := range [][]*Item{q.done, q.waiting} {
		for _, i := range list {
			all = append(all, &record{Op: opItem, At: i.Put, Item: i})
		}
	}
	return all
}

// Close closes the journal and frees the folder.
func (q *Queue) Close() error {
	if q.path == "" {
		return nil
	}
	return errors.Join(q.file.Close(), q.lock.Release())
}
