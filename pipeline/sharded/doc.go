// Package sharded has the stages costs, featurize, index and import as shards.Stage: many machines do a part each, and the
// gathered output has the bytes of a run on one machine.
package sharded

import (
	"context"
	"encoding/json"
	"os"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

// readJSON decodes what a worker shared or wrote.
func readJSON(b []byte, work *storage.Folder, name string, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return &costs.DataError{File: work.Location(name).String(), Msg: "is damaged", Err: err}
	}
	return nil
}

// writeJSON writes a value to a file.
func writeJSON(ctx context.Context, path storage.Location, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.WriteFileAt(ctx, path, b)
}

// opened are files that stay open when their folder goes: the files of all shards are read side by side.
type opened []*os.File

// open opens a file.
func (o *opened) open(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err == nil {
		*o = append(*o, f)
	}
	return f, err
}

func (o opened) close() {
	for _, f := range o {
		_ = f.Close() // only read from: nothing is lost
	}
}
