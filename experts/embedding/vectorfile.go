package embedding

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"sync"

	"pipe/internal/filelock"
)

// vectorFile keeps the vectors of texts in memory and in a file, so that a text
// is encoded only once, even if the build is killed. The file has a header
// line, followed by records of fixed length:
//
//	SHA-256 of the text    32 bytes
//	vector                 dim x float32, little endian
//	CRC-32C of the above   4 bytes, little endian
//
// Records are only appended, under a lock on the file, so that builds may share
// it. An incomplete last record, left by a killed build, is removed by the next
// append. A record with a wrong checksum counts as absent. It is safe for
// concurrent use.
type vectorFile struct {
	path string
	head []byte // first line of the file
	dim  int

	mu      sync.RWMutex
	vectors map[textKey][]float32
	read    int64 // bytes of the file that have been read: the head and whole records
}

// textKey is the SHA-256 of a text.
type textKey [sha256.Size]byte

func keyOf(text string) textKey { return sha256.Sum256([]byte(text)) }

// vectorFormat is the version of the file.
const vectorFormat = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openVectors reads the vectors of an encoder from a file that need not exist.
// A file of another version or encoder is overwritten.
func openVectors(ctx context.Context, path, encoder string, dim int) (*vectorFile, error) {
	f := &vectorFile{path: path, head: vectorHead(encoder, dim), dim: dim, vectors: make(map[textKey][]float32)}
	return f, f.locked(ctx, func(*os.File) error { return nil })
}

// vectorHead is the first line of a file.
func vectorHead(encoder string, dim int) []byte {
	return fmt.Appendf(nil, "pipe vectors %d, %d numbers each, of encoder %s\n", vectorFormat, dim, encoder)
}

// Get returns the vector of a text, nil if there is none. The caller must not
// modify it.
func (f *vectorFile) Get(text string) []float32 {
	key := keyOf(text)
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.vectors[key]
}

// Add appends the vectors of texts, len(texts) x dim, and keeps the slice.
// After Add the vectors survive a crash of the process, after Sync also a crash
// of the machine.
func (f *vectorFile) Add(ctx context.Context, texts []string, values []float32) error {
	var records []byte
	for i, text := range texts {
		key, v := keyOf(text), values[i*f.dim:(i+1)*f.dim:(i+1)*f.dim]
		records = appendRecord(records, key, v)
	}
	return f.locked(ctx, func(file *os.File) error {
		if _, err := file.WriteAt(records, f.read); err != nil {
			return err
		}
		f.read += int64(len(records))
		for i, text := range texts {
			f.vectors[keyOf(text)] = values[i*f.dim : (i+1)*f.dim : (i+1)*f.dim]
		}
		return nil
	})
}

func appendRecord(b []byte, key textKey, vector []float32) []byte {
	from := len(b)
	b = append(b, key[:]...)
	for _, v := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// Sync makes the added vectors durable.
func (f *vectorFile) Sync(ctx context.Context) error {
	return f.locked(ctx, (*os.File).Sync)
}

// locked calls do under the lock of the file. The file then ends after its last complete record, and all of its records are
// in memory.
func (f *vectorFile) locked(ctx context.Context, do func(*os.File) error) (err error) {
	l, err := filelock.Wait(ctx, f.path, nil)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		defer func() { err = errors.Join(err, l.Release()) }()
		if err = f.catchUp(l.File); err == nil {
			err = do(l.File)
		}
	}
	if err != nil {
		return fmt.Errorf("vectors %q: %w", f.path, err)
	}
	return nil
}

// catchUp reads the records appended since the last call and removes an
// incomplete record at the end.
func (f *vectorFile) catchUp(file *os.File) error {
	if err := f.checkHead(file); err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < f.read { // another program has truncated it: read it again
		f.read = int64(len(f.head))
	}
	size := f.recordSize()
	records := (info.Size() - f.read) / size
	if f.read+records*size < info.Size() {
		if err := file.Truncate(f.read + records*size); err != nil {
			return err
		}
	}
	return f.readRecords(file, records)
}

// checkHead starts the file anew if it is empty or has another header.
func (f *vectorFile) checkHead(file *os.File) error {
	head := make([]byte, len(f.head))
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.Equal(head, f.head) {
		f.read = max(f.read, int64(len(f.head)))
		return nil
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	f.read = int64(len(f.head))
	_, err := file.WriteAt(f.head, 0)
	return err
}

func (f *vectorFile) recordSize() int64 { return int64(len(textKey{}) + 4*f.dim + 4) }

// recordsRead is how many records are read at a time.
const recordsRead = 512

// readRecords loads the next records into memory.
func (f *vectorFile) readRecords(file *os.File, records int64) error {
	size := f.recordSize()
	buffer := make([]byte, min(records, recordsRead)*size)
	for ; records > 0; records -= int64(len(buffer)) / size {
		buffer = buffer[:min(int64(len(buffer)), records*size)]
		if _, err := file.ReadAt(buffer, f.read); err != nil {
			return err
		}
		values := make([]float32, int64(len(buffer))/size*int64(f.dim))
		for at := buffer; len(at) > 0; at = at[size:] {
			f.keep(at[:size], values[:f.dim:f.dim])
			values = values[f.dim:]
		}
		f.read += int64(len(buffer))
	}
	return nil
}

// keep decodes a record into vector, unless it is damaged.
func (f *vectorFile) keep(record []byte, vector []float32) {
	body, sum := record[:len(record)-4], record[len(record)-4:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return
	}
	key := textKey(body)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[len(key)+4*i:]))
	}
	f.vectors[key] = vector
}
