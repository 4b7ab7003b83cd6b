package bm25

import (
	"fmt"
	"os"

	"pipe/internal/atomicfile"
)

// spill is a temporary file without a name, which disappears however the
// process ends.
type spill struct {
	file *atomicfile.File
	size int64
}

// newSpill makes a spill file in the folder of the file at path, whose file
// system must have room for that file anyway.
func newSpill(path string) (*spill, error) {
	f, err := atomicfile.Create(path + ".spill")
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
