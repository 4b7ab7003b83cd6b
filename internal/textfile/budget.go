package textfile

import (
	"fmt"
	"sync/atomic"
)

// MaxHeld is the most memory, in bytes, that a command keeps of the tables that it reads. A small compressed file can
// hold billions of short rows. Commands that stream their rows have no such limit.
const MaxHeld = 8 << 30

// MemoryBudget counts approximately how much memory the kept content of tables takes. It is safe for concurrent use.
type MemoryBudget struct {
	limit int64
	bytes atomic.Int64
}

// NewMemoryBudget returns a counter with a limit, which is MaxHeld except in tests.
func NewMemoryBudget(limit int64) *MemoryBudget { return &MemoryBudget{limit: limit} }

// Add counts n more bytes. Beyond the limit it returns a *Fault, to which the caller adds file and line. A nil MemoryBudget has
// no limit.
func (h *MemoryBudget) Add(n int64) error {
	if h == nil {
		return nil
	}
	if n >= 0 && n <= h.limit && h.bytes.Add(n) <= h.limit {
		return nil
	}
	return &Fault{
		fmt.Sprintf("the tables take more than %s of memory, the most that is allowed", size(h.limit)),
		"remove rows and columns that are not needed, or split the table and make several results",
	}
}

// AddCells counts rows x columns values of the given size. Its error is that of Add.
func (h *MemoryBudget) AddCells(rows, columns, bytes int) error {
	if columns > 0 && int64(rows) > MaxHeld/int64(columns) {
		return h.Add(MaxHeld + 1)
	}
	return h.Add(int64(rows) * int64(columns) * int64(bytes))
}

func size(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%d GiB", bytes>>30)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
