package tabular

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// WriteIDs writes the ids of a part, sorted, with their lines, for CheckIDs.
func WriteIDs(out io.Writer, f *Frame) error {
	order := make([]int32, f.Len())
	for n := range order {
		order[n] = int32(n)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(f.IDs[a], f.IDs[b]) })
	w := bufio.NewWriterSize(out, 1<<18)
	for _, n := range order {
		b := binary.AppendUvarint(w.AvailableBuffer(), uint64(len(f.IDs[n])))
		b = append(b, f.IDs[n]...)
		w.Write(binary.AppendUvarint(b, uint64(f.Lines[n]))) // the writer keeps its first error
	}
	return w.Flush()
}

// CheckIDs merges what WriteIDs wrote of all parts of a table and returns a *DataError if an id is not unique: the one
// that Load finds. It keeps one id per part in memory. primary is the file with the rows.
func CheckIDs(primary string, s *Schema, parts []io.Reader) error {
	var h idHeap
	for _, p := range parts {
		c := &idCursor{in: bufio.NewReaderSize(p, 1<<16)}
		if more, err := c.next(); err != nil {
			return err
		} else if more {
			h = append(h, c)
		}
	}
	heap.Init(&h)
	var last idCursor
	first, again := 0, 0 // lines of the duplicate whose second row is the earliest
	id := ""
	for len(h) > 0 {
		c := h[0]
		if last.line > 0 && c.id == last.id {
			if again == 0 || c.line < again {
				first, again, id = last.line, c.line, c.id
			}
		} else {
			last.id, last.line = c.id, c.line
		}
		switch more, err := c.next(); {
		case err != nil:
			return err
		case more:
			heap.Fix(&h, 0)
		default:
			heap.Pop(&h)
		}
	}
	if again == 0 {
		return nil
	}
	return fmt.Errorf("load table: %w", &DataError{File: primary, Line: again, Column: columnName(s.ID), Msg: fmt.Sprintf("%q is a duplicate of line %d", id, first)})
}

// idCursor reads the ids of a part.
type idCursor struct {
	in   *bufio.Reader
	id   string
	line int
}

// next reads the next id; more is false behind the last.
func (c *idCursor) next() (more bool, err error) {
	n, err := binary.ReadUvarint(c.in)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	b := make([]byte, min(n, 1<<26))
	if err == nil {
		_, err = io.ReadFull(c.in, b)
	}
	line := uint64(0)
	if err == nil {
		line, err = binary.ReadUvarint(c.in)
	}
	c.id, c.line = string(b), int(line)
	if err != nil {
		return false, fmt.Errorf("read ids: %w", err)
	}
	return true, nil
}

// idHeap has the cursor with the least id, and of these the one with the least line, first.
type idHeap []*idCursor

func (h idHeap) Len() int { return len(h) }
func (h idHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].id, h[j].id), cmp.Compare(h[i].line, h[j].line)) < 0
}
func (h idHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *idHeap) Push(x any)   { *h = append(*h, x.(*idCursor)) }
func (h *idHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
