package part

import "pipe/internal/progress"

// Progress receives the progress of a build. Add is called concurrently between Start and Done. Note, at any time,
// reports messages such as waits before a retry.
type Progress = progress.Progress
