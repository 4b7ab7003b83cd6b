package bm25

import (
	"context"
	"fmt"
	"os"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

// spill is a temporary file without a name, which disappears however the
// process ends.
type spill struct {
	file *atomicfile.File
	size int64
}

// newSpill makes a spill file in the folder of an output, whose file system
// must have room for that anyway, or on this machine. It is never stored.
func newSpill(out storage.Location) (*spill, error) {
	f, err := atomicfile.CreateAt(context.Background(), out.Suffix(".spill"))
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Cleanup()
		return nil, fmt.Errorf("make temporary file: %w", err)
	}
	return &spill{file: f}, nil
}

// Write appends.
func (s *spill) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	s.size += int64(n)
	return n, err
}

// Close releases the space.
func (s *spill) Close() { s.file.Cleanup() } // which complains that the name is gone
