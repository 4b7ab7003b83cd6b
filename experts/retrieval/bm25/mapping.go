package bm25

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"sync/atomic"
	"syscall"
)

// mapping is a memory-mapped index file. Each chunk is checked against its
// checksum when it is first used.
type mapping struct {
	data   []byte
	first  [sectionCount]int // index of each section's first chunk among all
	good   []atomic.Bool     // per chunk
	table  []section
	damage func(section, chunk int) error
}

func mapFile(f *os.File, size int64) ([]byte, error) {
	b, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return b, nil
}

func (m *mapping) close() error { return os.NewSyscallError("munmap", syscall.Munmap(m.data)) }

// section returns all bytes of a section, unchecked.
func (m *mapping) section(s int) []byte {
	t := m.table[s]
	return m.data[t.Offset : t.Offset+t.Size]
}

// bytes returns the bytes from..to of a section, followed by as many as unpack
// may read. It returns an error if they are missing or damaged.
func (m *mapping) bytes(s int, from, to int64) ([]byte, error) {
	all := m.section(s)
	if from < 0 || from > to || to > int64(len(all)) {
		return nil, m.damage(s, -1)
	}
	for chunk := int(from / chunkLen); int64(chunk)*chunkLen < to; chunk++ {
		if !m.good[m.first[s]+chunk].Load() {
			if err := m.check(s, chunk); err != nil {
				return nil, err
			}
		}
	}
	return all[from:to], nil
}

// check checks a chunk against its checksum.
func (m *mapping) check(s, chunk int) error {
	all := m.section(s)
	from := chunk * chunkLen
	at := m.first[s] + chunk
	want := binary.LittleEndian.Uint32(m.section(checksumsSection)[4*at:])
	if crc32.Checksum(all[from:min(from+chunkLen, len(all))], castagnoli) != want {
		return m.damage(s, chunk)
	}
	m.good[at].Store(true)
	return nil
}
