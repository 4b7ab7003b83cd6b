package stage

import "pipe/internal/progress"

// Progress receives the progress of a stage, and notes for the user. Start begins a phase of total units (negative if
// unknown) and replaces the previous one; Add counts finished units; Done ends the phase and may be called again; Note
// is a remark of one line. All methods are safe for concurrent use. A stage that gets a nil Progress shows nothing.
type Progress = progress.Progress

// Quiet is the Progress that shows nothing.
var Quiet Progress = progress.Silent{}

// OrQuiet is p, or Quiet if p is nil. Every stage that takes a Progress begins with it.
func OrQuiet(p Progress) Progress {
	if p == nil {
		return Quiet
	}
	return p
}
