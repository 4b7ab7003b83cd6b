package stage

import "pipe/internal/progress"

// Progress is told how far a stage has come, and what the user should know while it goes on. Start begins a phase of
// total units (a negative total is unknown) and replaces the one before; Add counts finished units; Done ends the phase
// and may be called again; Note is a remark of one line. Calls may come from several goroutines.
type Progress = progress.Progress

// Quiet is the Progress that shows nothing.
var Quiet Progress = progress.Silent{}
