package shards

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"pipe/internal/atomicfile"
	"pipe/internal/hint"
	"pipe/internal/storage"
)

// Parts are the finished shards of a work folder, all of them there.
type Parts struct {
	folder  *storage.Folder
	done    []*Done
	scratch string
}

// Len returns the number of shards.
func (p *Parts) Len() int { return len(p.done) }

// Done returns the record of a shard.
func (p *Parts) Done(shard int) *Done { return p.done[shard] }

// Folder returns the work folder.
func (p *Parts) Folder() *storage.Folder { return p.folder }

// Counts returns the sums of what the shards counted.
func (p *Parts) Counts() map[string]int64 {
	sums := map[string]int64{}
	for _, d := range p.done {
		for name, n := range d.Counts {
			sums[name] += n
		}
	}
	return sums
}

// ahead is how many shards are fetched at once, those in use included.
const ahead = 3

// Each calls use for every shard in order, with a local folder of its files, which are checked. The folder goes when use
// returns. Later shards are fetched meanwhile.
func (p *Parts) Each(ctx context.Context, use func(shard int, folder string) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var fetching sync.WaitGroup
	defer fetching.Wait()
	next := make(chan chan fetched, ahead-1)
	fetching.Go(func() {
		defer close(next)
		for shard := range p.done {
			one := make(chan fetched, 1)
			select {
			case next <- one:
			case <-ctx.Done():
				return
			}
			fetching.Go(func() { one <- p.fetch(ctx, shard) })
		}
	})
	shard := 0
	for one := range next {
		f := <-one
		if err == nil {
			err = f.err
		}
		if err == nil {
			err = use(shard, f.folder)
		}
		if f.remove != nil {
			err = errors.Join(err, f.remove())
		}
		if shard++; err != nil {
			cancel()
		}
	}
	return errors.Join(err, unlessDone(ctx, err))
}

// unlessDone is the error of a context that has ended before there was another error.
func unlessDone(ctx context.Context, err error) error {
	if err != nil {
		return nil
	}
	return ctx.Err()
}

// fetched is a local copy of a shard.
type fetched struct {
	folder string
	remove func() error
	err    error
}

func (p *Parts) fetch(ctx context.Context, shard int) (f fetched) {
	if f.folder, f.remove, f.err = atomicfile.TempFolder(p.scratch, "pipe-part-*"); f.err != nil {
		return f
	}
	for _, file := range p.done[shard].Files {
		if f.err = p.download(ctx, file, filepath.Join(f.folder, file.Name)); f.err != nil {
			return f
		}
	}
	return f
}

// download copies a file and compares it with its record.
func (p *Parts) download(ctx context.Context, file File, to string) error {
	if err := p.folder.Download(ctx, file.Part, to); err != nil {
		return err
	}
	sum, size, err := digestFile(to)
	if err == nil && (sum != file.Digest || size != file.Size) {
		err = damagedPart(p.folder, file, size)
	}
	return err
}

// damagedPart says that the bytes of a part are not those that were written.
func damagedPart(folder *storage.Folder, file File, size int64) error {
	msg := "its content has changed since its shard was finished"
	if size != file.Size {
		msg = fmt.Sprintf("it has %d bytes, but had %d when its shard was finished", size, file.Size)
	}
	return brokenPart(folder, file, msg)
}

// brokenPart is about a part that is missing, truncated or damaged.
func brokenPart(folder *storage.Folder, file File, msg string) error {
	shard, _, _ := shardOf(file.Part, partsName)
	return hint.With(&DataError{File: folder.Location(file.Part).String(), Msg: msg},
		fmt.Sprintf("remove %q, and run the shard again with --shard %d", folder.Location(doneOf(shard)).String(), shard))
}
