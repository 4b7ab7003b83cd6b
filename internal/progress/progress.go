// Package progress shows the progress of long work: a bar on a terminal, and elsewhere a line at intervals.
package progress

// Progress receives the progress of a stage. Start begins a phase of total units (negative if unknown) and replaces the
// previous one; Add counts finished units; Done ends the phase and may be called again. Note is a remark that the user
// should see while the work goes on, such as a wait before a retry: one line, without a line break. All methods are
// safe for concurrent use.
type Progress interface {
	Start(total int64, what string)
	Add(n int64)
	Done()
	Note(format string, args ...any)
}

// Silent is the Progress that shows nothing.
type Silent struct{}

// Start does nothing.
func (Silent) Start(int64, string) {}

// Add does nothing.
func (Silent) Add(int64) {}

// Done does nothing.
func (Silent) Done() {}

// Note does nothing.
func (Silent) Note(string, ...any) {}
