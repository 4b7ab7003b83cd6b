package stage

import "pipe/internal/progress"

// Progress receives the progress of a stage, and notes for the user. Start begins a phase of total units (negative if
// unknown) and replaces the previous one; Add counts finished units; Done ends the phase and may be called again; Note
// is a remark of one line. All methods are safe for concurrent use.
type Progress = progress.Progress

// Quiet is the Progress that shows nothing.
var Quiet Progress = progress.Silent{}
