package decisionlog

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"

	"pipe/internal/atomicfile"
	"pipe/internal/dataerror"
)

// An index lists the ids of a segment. It is a head of fixed size, then 16 bytes per id, sorted: the hash of the id and the
// hash of the content, big-endian. It is written before the Parquet file of its segment, and made again if it is missing.
const (
	indexMagic = "PIPEIDS1"
	indexHead  = len(indexMagic) + 3*8 + 2*(1+maxID)
	indexEntry = 16
)

// writeIndex writes the index of a segment.
func (s *segment) writeIndex(sp *span) error {
	file, err := atomicfile.Create(s.path(indexEnding))
	if err != nil {
		return err
	}
	defer file.Cleanup()
	head := make([]byte, 0, indexHead)
	head = append(head, indexMagic...)
	for _, v := range []int64{int64(sp.Rows), sp.First, sp.Last} {
		head = binary.BigEndian.AppendUint64(head, uint64(v))
	}
	for _, id := range []string{sp.MinID, sp.MaxID} {
		head = append(head, byte(len(id)))
		head = append(append(head, id...), make([]byte, maxID-len(id))...)
	}
	out := bufio.NewWriter(file)
	if _, err := out.Write(head); err != nil {
		return err
	}
	for _, hash := range slices.Sorted(maps.Keys(sp.Hashes)) {
		var b [indexEntry]byte
		binary.BigEndian.PutUint64(b[:], hash)
		binary.BigEndian.PutUint64(b[8:], sp.Hashes[hash])
		if _, err := out.Write(b[:]); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}

// readIndex reads the head of an index: a span without hashes.
func (s *segment) readIndex() (*span, error) {
	file, err := os.Open(s.path(indexEnding))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sp, _, err := readIndexHead(file)
	if err != nil {
		return nil, dataerror.InFile(s.path(indexEnding), err)
	}
	return sp, nil
}

func readIndexHead(file *os.File) (sp *span, entries int, err error) {
	head := make([]byte, indexHead)
	if _, err := file.ReadAt(head, 0); err != nil || string(head[:len(indexMagic)]) != indexMagic {
		return nil, 0, &dataerror.Error{Msg: "is not an index of ids", Err: err}
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	at := head[len(indexMagic):]
	sp = &span{Rows: int(binary.BigEndian.Uint64(at)), First: int64(binary.BigEndian.Uint64(at[8:])), Last: int64(binary.BigEndian.Uint64(at[16:]))}
	at = at[24:]
	for _, id := range []*string{&sp.MinID, &sp.MaxID} {
		n := int(at[0])
		if n > maxID {
			return nil, 0, &dataerror.Error{Msg: fmt.Sprintf("has an id of %d bytes", n)}
		}
		*id = string(at[1 : 1+n])
		at = at[1+maxID:]
	}
	size := info.Size() - int64(indexHead)
	entries = int(size / indexEntry)
	if size%indexEntry != 0 || entries > sp.Rows || sp.Rows < 0 {
		return nil, 0, &dataerror.Error{Msg: fmt.Sprintf("has %d bytes of ids for %d rows", size, sp.Rows)}
	}
	sp.ids = entries
	return sp, entries, nil
}

// findInIndex looks a hash up on disk, by bisection.
func (s *segment) findInIndex(hash uint64) (content uint64, found bool, err error) {
	file, err := os.Open(s.path(indexEnding))
	if err != nil {
		return 0, false, err
	}
	defer file.Close()
	_, entries, err := readIndexHead(file)
	if err != nil {
		return 0, false, dataerror.InFile(s.path(indexEnding), err)
	}
	var b [indexEntry]byte
	for low, high := 0, entries; low < high; {
		middle := (low + high) / 2
		if _, err := file.ReadAt(b[:], int64(indexHead+middle*indexEntry)); err != nil {
			return 0, false, err
		}
		switch at := binary.BigEndian.Uint64(b[:]); {
		case at == hash:
			return binary.BigEndian.Uint64(b[8:]), true, nil
		case at < hash:
			low = middle + 1
		default:
			high = middle
		}
	}
	return 0, false, nil
}
