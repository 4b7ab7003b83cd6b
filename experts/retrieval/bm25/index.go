package bm25

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"pipe/internal/digest"
	"pipe/internal/textfile"
)

// Index is an open index. It is safe for concurrent use.
type Index struct {
	path   string
	size   int64
	header *Header
	digest string
	norms  *norms

	mu     sync.RWMutex // held for reading while the mapping is used
	file   *mapping     // nil when closed
	spares sync.Pool    // of *searcher
}

var errClosed = errors.New("the index is closed")

// Open maps an index into memory. It checks the header, the sizes, and the
// digest of the checksums. Every other part is checked against its checksum
// when it is first used. A file that is not an index, has another version, is
// truncated or is damaged gives an *IndexError. The caller closes the index;
// until then the file must not change.
func Open(path string) (*Index, error) {
	x, err := open(path)
	var system *fs.PathError // its text says already what was done
	switch {
	case errors.As(err, &system):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("open: %w", err)
	}
	return x, nil
}

func open(path string) (_ *Index, err error) {
	f, size, err := textfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping remains valid
	x := &Index{path: path, size: size}
	if x.header, x.digest, err = readHeader(f, x.size); err != nil {
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, err
		}
		return nil, x.bad("%v", err)
	}
	x.norms = x.header.norms()
	x.spares.New = func() any { return newSearcher(x) }
	m := &mapping{table: x.header.Sections, damage: x.damage}
	if m.data, err = mapFile(f, x.size); err != nil {
		return nil, err
	}
	chunks := 0
	for s := range checksumsSection {
		m.first[s] = chunks
		chunks += m.table[s].chunks()
	}
	m.good = make([]atomic.Bool, chunks)
	x.file = m
	if digest.Of(m.section(checksumsSection)) != x.header.Checksums {
		return nil, errors.Join(x.bad("its checksums are damaged"), x.Close())
	}
	return x, nil
}

func (x *Index) bad(text string, args ...any) error {
	return &IndexError{x.path, fmt.Sprintf(text, args...)}
}

// damage is the error of a damaged chunk; chunk -1 stands for a position outside the section.
func (x *Index) damage(s, chunk int) error {
	if chunk < 0 {
		return x.bad("section %s is inconsistent with the others", sectionNames[s])
	}
	return x.bad("section %s is damaged near byte %d of the file", sectionNames[s], x.header.Sections[s].Offset+int64(chunk)*chunkLen)
}

// Header returns the header of the index.
func (x *Index) Header() Header { return *x.header }

// Digest identifies the content of the index. It is the digest of the header,
// which contains the digest of the checksums.
func (x *Index) Digest() string { return x.digest }

// Len is the number of pages.
func (x *Index) Len() int { return x.header.Pages }

// Close waits for running searches and frees the mapping; it may be called
// again.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return nil
	}
	m := x.file
	x.file = nil
	return m.close()
}

// use calls do with the mapping, which stays valid during the call.
func (x *Index) use(do func(m *mapping) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.file == nil {
		return errClosed
	}
	return do(x.file)
}

// Verify checks every byte against its checksum. Bytes between the sections
// must be zero.
func (x *Index) Verify(ctx context.Context) error {
	return x.use(func(m *mapping) error {
		end := int64(headerLen)
		for s, at := range m.table {
			if gap := m.data[end:at.Offset]; len(bytes.Trim(gap, "\x00")) > 0 {
				return x.bad("the padding before section %s is not zero", sectionNames[s])
			}
			end = at.Offset + at.Size
		}
		for s := range checksumsSection {
			for chunk := range m.table[s].chunks() {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := m.check(s, chunk); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Page returns the page with a number (0 to Len-1), which is its place in the
// order of ids.
func (x *Index) Page(number int) (p Page, err error) {
	if number < 0 || number >= x.Len() {
		return p, fmt.Errorf("there is no page %d; the index has %d", number, x.Len())
	}
	err = x.use(func(m *mapping) error {
		id, text, err := m.page(number)
		p = Page{ID: string(id), Text: string(text)}
		return err
	})
	return p, err
}

// page returns id and text of a page, which are valid while the mapping is.
func (m *mapping) page(number int) (id, text []byte, err error) {
	at := int64(number)
	starts, err := m.bytes(startsSection, 8*at, 8*(at+2))
	if err != nil {
		return nil, nil, err
	}
	length, err := m.bytes(textsSection, 4*at, 4*(at+1))
	if err != nil {
		return nil, nil, err
	}
	from, to := binary.LittleEndian.Uint64(starts), binary.LittleEndian.Uint64(starts[8:])
	page, err := m.bytes(pagesSection, int64(from), int64(to))
	if err != nil {
		return nil, nil, err
	}
	n := binary.LittleEndian.Uint32(length)
	if int64(n) > int64(len(page)) {
		return nil, nil, m.damage(textsSection, -1)
	}
	return page[:n], page[n:], nil
}

// Find returns the number of the page with an id.
func (x *Index) Find(id string) (number int, found bool, err error) {
	err = x.use(func(m *mapping) (err error) {
		number, found, err = search(x.Len(), []byte(id), func(n int) ([]byte, error) {
			id, _, err := m.page(n)
			return id, err
		})
		return err
	})
	return number, found, err
}

// search looks for a key among n sorted ones.
func search(n int, key []byte, at func(int) ([]byte, error)) (int, bool, error) {
	low, high := 0, n
	for low < high {
		middle := int(uint(low+high) / 2)
		there, err := at(middle)
		if err != nil {
			return 0, false, err
		}
		switch bytes.Compare(there, key) {
		case 0:
			return middle, true, nil
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return 0, false, nil
}
