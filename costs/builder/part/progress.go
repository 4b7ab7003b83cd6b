package part

import "pipe/internal/progress"

// Progress is told how far a build has come, and of waits before a retry by its Note. Add is called from several
// goroutines between Start and Done, Note at any time.
type Progress = progress.Progress
