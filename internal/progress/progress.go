// Package progress shows how far long work has come: a bar on a terminal, and elsewhere a line every now and then.
package progress

// Progress is told how far a stage has come. Start begins a phase of total units (a negative total is unknown) and
// replaces the one before; Add counts finished units; Done ends the phase and may be called again. Note is a remark that
// the user should see while the work goes on, such as a wait before a retry: one line, without a line break. Calls may
// come from several goroutines.
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
