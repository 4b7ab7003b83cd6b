package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"pipe/internal/atomicfile"
)

// magic begins a file of sessions of this format.
const magic = "pipe sessions 1\n"

// encode is the content of a file: magic, a digest of the key, the entries, and a checksum.
func encode(check Key, all []entry) ([]byte, error) {
	b := append([]byte(magic), check[:]...)
	b, err := binary.Append(b, binary.LittleEndian, all)
	if err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// decode reads the content of a file.
func decode(text []byte, check Key) ([]entry, error) {
	size, head := binary.Size(entry{}), len(magic)+len(check)
	n := len(text) - head - 4
	switch {
	case n < 0 || !bytes.HasPrefix(text, []byte(magic)) || n%size != 0:
		return nil, errors.New("is not a file of sessions of pipe serve")
	case crc32.ChecksumIEEE(text[:head+n]) != binary.LittleEndian.Uint32(text[head+n:]):
		return nil, errors.New("is damaged: its checksum is wrong")
	case !bytes.Equal(text[len(magic):head], check[:]):
		return nil, errors.New("was written with another decision.user_key, so its digests mean nothing")
	}
	all := make([]entry, n/size)
	if err := binary.Read(bytes.NewReader(text[head:head+n]), binary.LittleEndian, all); err != nil {
		return nil, err
	}
	for i := range all {
		if !all[i].valid() {
			return nil, fmt.Errorf("entry %d contradicts itself", i)
		}
	}
	return all, nil
}

// valid reports whether the numbers of an entry are possible.
func (e *entry) valid() bool {
	ok := e.N >= 0 && e.N <= maxMarks && e.Turn >= 0 && e.Tokens >= 0 && e.Bytes >= 0
	for i := range e.Marks {
		m := &e.Marks[i]
		ok = ok && m.N >= 0 && m.Tokens >= 0 && !math.IsNaN(m.Share) && m.Share >= -1 && m.Share <= 1
	}
	return ok
}

// file writes the entries of a store to a file from time to time.
type file struct {
	path  string
	check Key // of the key of the digests
	store *store
	log   *slog.Logger
	stop  chan struct{}
	done  sync.WaitGroup
}

// openFile reads the file into the store, if there is one, and writes it every interval until close.
func openFile(path string, check Key, s *store, every time.Duration, log *slog.Logger) (*file, error) {
	f := &file{path: path, check: check, store: s, log: log, stop: make(chan struct{})}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		all, err := decode(text, check)
		if err != nil {
			return nil, fmt.Errorf("%q %w; remove it to begin without sessions", path, err)
		}
		for _, e := range all {
			s.put(e, e.Key)
		}
	}
	f.done.Go(func() { f.keep(every) })
	return f, nil
}

// keep writes the file every interval until close.
func (f *file) keep(every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	failed := false
	for {
		select {
		case <-f.stop:
			return
		case <-t.C:
		}
		err := f.write()
		if err != nil && !failed {
			f.log.Error("the file of sessions cannot be written; sessions stay in memory", "error", err.Error())
		}
		failed = err != nil
	}
}

// write writes the file if something has changed.
func (f *file) write() error {
	all, changed := f.store.entries()
	if !changed {
		return nil
	}
	text, err := encode(f.check, all)
	if err == nil {
		err = atomicfile.WriteFile(f.path, text)
	}
	if err != nil {
		f.store.mu.Lock()
		f.store.changed = true // it is tried again
		f.store.mu.Unlock()
	}
	return err
}

// close writes the file for the last time.
func (f *file) close() error {
	close(f.stop)
	f.done.Wait()
	return f.write()
}
