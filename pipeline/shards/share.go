package shards

import (
	"context"
	"errors"
	"io/fs"

	"pipe/internal/storage"
)

// Share returns what all workers of a work folder have under a name: the first one makes it, and the others get the
// bytes of the first. Two that make it at the same time agree on those that are written first. It is for what differs
// from run to run, such as measured times, and has at most storage.MaxClaim bytes.
func Share(ctx context.Context, work *storage.Folder, name string, make func() ([]byte, error)) ([]byte, error) {
	name = sharedName + name
	b, err := work.ReadFile(ctx, name, storage.MaxClaim)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if b, err = make(); err != nil {
		return nil, err
	}
	err = work.WriteFile(ctx, name, b, storage.WriteOptions{IfNotExist: true})
	if errors.Is(err, fs.ErrExist) {
		return work.ReadFile(ctx, name, storage.MaxClaim)
	}
	return b, err
}
