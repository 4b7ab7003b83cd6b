package job

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/pipeline/shards"
)

// Check are the options of the stage check, whose shards do nothing.
type Check struct{ Shards int }

// Checked is the report of check.
type Checked struct {
	Shards  int           `json:"shards"`
	Workers int           `json:"workers"` // processes that made shards
	Span    time.Duration `json:"span"`    // nanoseconds between the first and the last finished shard
}

// WriteText writes the report for a reader at a terminal.
func (c *Checked) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d empty shards by %d workers, the last one %.1f s after the first\n", c.Shards, c.Workers, c.Span.Seconds())
	return err
}

// check is a stage whose shards do nothing: with it, a runner, its workers and the work folder are tried.
type check struct{ o Check }

func openCheck(_ context.Context, options json.RawMessage) (shards.Stage, error) {
	var c check
	return &c, read(options, &c.o)
}

func (c *check) Manifest() shards.Manifest {
	return shards.Manifest{Stage: "check", Shards: c.o.Shards}
}

func (c *check) Prepare(context.Context, *storage.Folder) error { return nil }

func (c *check) Shard(_ context.Context, shard int, folder string) (*shards.Result, error) {
	const name = "check.txt"
	err := atomicfile.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, "shard %d\n", shard))
	return &shards.Result{Files: []string{name}}, err
}

func (c *check) Gather(_ context.Context, parts *shards.Parts) (any, error) {
	workers := map[string]bool{}
	first, last := parts.Done(0).Finished, parts.Done(0).Finished
	for shard := range parts.Len() {
		d := parts.Done(shard)
		workers[d.Machine.Worker] = true
		if d.Finished.Before(first) {
			first = d.Finished
		}
		if d.Finished.After(last) {
			last = d.Finished
		}
	}
	return &Checked{Shards: parts.Len(), Workers: len(workers), Span: last.Sub(first)}, nil
}

func (c *check) Close() error { return nil }
