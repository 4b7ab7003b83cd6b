package shards

import (
	"errors"
	"fmt"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/hint"
	"pipe/internal/storage"
)

// DataError is a fault in the files of a work folder.
type DataError = dataerror.Error

// ChangedError says that a work folder holds other work than this command does.
type ChangedError struct {
	Work    string
	Changes []string // "settings of expert ... changed", sorted
}

// Error names the first changes.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("work folder %q: it holds the shards of other work: %s", e.Work, some(e.Changes, 5))
}

// Hint returns a remedy.
func (e *ChangedError) Hint() string {
	return "all workers need the same configuration, inputs, --shards and runtime; for new work, name another folder with --work, or drop the finished shards with --list --restart"
}

// MissingError says that shards cannot be gathered yet.
type MissingError struct {
	Work   string
	Shards []int
	Of     int
}

// Error lists the shards.
func (e *MissingError) Error() string {
	return fmt.Sprintf("work folder %q: %d of %d shards are missing: %s", e.Work, len(e.Shards), e.Of, Ranges(e.Shards))
}

// Hint returns a remedy.
func (e *MissingError) Hint() string {
	return "run them with --shard " + Ranges(e.Shards) + ", or have --list show who is at work"
}

// FailedError says that shards failed too often.
type FailedError struct {
	Work   string
	Shards []int
	Tries  int
	Last   error // of this worker; nil if others tried
}

// Error lists the shards, and the last error if this worker has one.
func (e *FailedError) Error() string {
	text := fmt.Sprintf("work folder %q: shards %s failed %d times", e.Work, Ranges(e.Shards), e.Tries)
	if e.Last != nil {
		text += ", last: " + e.Last.Error()
	}
	return text
}

// Unwrap returns the last error of this worker.
func (e *FailedError) Unwrap() error { return e.Last }

// Hint returns that of the last error, or how to go on.
func (e *FailedError) Hint() string {
	var inner interface{ Hint() string }
	if errors.As(e.Last, &inner) && inner.Hint() != "" {
		return inner.Hint()
	}
	return "--list shows the errors; when the cause is gone, run the shards with --shard " + Ranges(e.Shards) + ", or next with a larger --tries"
}

// unrecordedError says that a shard failed, and that the other workers do not know.
type unrecordedError struct{ failed, record error }

func (e *unrecordedError) Error() string {
	return fmt.Sprintf("%v; the failure could not be recorded: %v", e.failed, e.record)
}

// Unwrap returns both errors.
func (e *unrecordedError) Unwrap() []error { return []error{e.failed, e.record} }

// damaged is about an object that the work folder should not have, or not in this form.
func damaged(folder *storage.Folder, name, msg string, err error) error {
	text := "remove that file from the work folder; --list then shows whether its shard has to be run again"
	if name == manifestName || strings.HasPrefix(name, sharedName) {
		text = "check --work: if that is a work folder, remove the file: the next worker writes it again, and finished shards of the same work stay"
	}
	return hint.With(&DataError{File: folder.Location(name).String(), Msg: msg, Err: err}, text)
}

// some lists the first of many things.
func some(list []string, most int) string {
	text := strings.Join(list[:min(most, len(list))], "; ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
