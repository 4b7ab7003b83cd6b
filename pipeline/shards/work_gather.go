package shards

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/internal/hint"
	"pipe/internal/parallel"
	"pipe/internal/progress"
)

// Gather makes the output of a stage from its finished shards. It changes nothing in the work folder, and may run again.
// Missing shards give a *MissingError, a folder of other work a *ChangedError.
func Gather(ctx context.Context, s Stage, o Options) (report any, err error) {
	w, err := open(ctx, s, o)
	if err != nil {
		return nil, err
	}
	was, err := readManifest(ctx, w.folder)
	if err == nil {
		err = w.compare(was)
	}
	if err != nil {
		return nil, orNoWork(w.folder, err)
	}
	p, err := w.parts(ctx)
	if err != nil {
		return nil, err
	}
	return s.Gather(ctx, p)
}

// readers is how many small objects are read at once.
const readers = 8

// parts reads the records of all shards, and compares them with the names and sizes in the folder.
func (w *Work) parts(ctx context.Context) (*Parts, error) {
	p := &Parts{folder: w.folder, done: make([]*Done, w.manifest.Shards), scratch: w.o.Scratch}
	sizes, found, err := w.names(ctx)
	if err != nil {
		return nil, err
	}
	var missing []int
	for shard, there := range found {
		if !there {
			missing = append(missing, shard)
		}
	}
	if len(missing) > 0 {
		return nil, &MissingError{w.folder.String(), missing, w.manifest.Shards}
	}
	err = parallel.Each(ctx, readers, len(p.done), func(ctx context.Context, shard int) (err error) {
		if p.done[shard], err = readDone(ctx, w.folder, w.of, shard); err != nil {
			return err
		}
		for _, f := range p.done[shard].Files {
			size, there := sizes[f.Part]
			if !there {
				return brokenPart(w.folder, f, "it is missing")
			}
			if size != f.Size {
				return damagedPart(w.folder, f, size)
			}
		}
		return nil
	})
	return p, err
}

// names lists the folder: which shards are done, and after that the sizes of parts, since the parts of a shard are there
// before it is done. A name that no worker makes is an error; a part of no finished shard is what a killed worker left.
func (w *Work) names(ctx context.Context) (sizes map[string]int64, found []bool, err error) {
	sizes, found = map[string]int64{}, make([]bool, w.manifest.Shards)
	for _, folder := range []string{doneName, partsName} {
		for info, err := range w.folder.List(ctx, folder) {
			if err != nil {
				return nil, nil, err
			}
			shard, end, ok := shardOf(info.Name, folder)
			ok = ok && (folder == doneName && end == ".json" || folder == partsName && strings.HasPrefix(end, "-"))
			switch {
			case !ok:
				return nil, nil, damaged(w.folder, info.Name, "no shard of this work has such a file", nil)
			case shard >= w.manifest.Shards:
				return nil, nil, damaged(w.folder, info.Name, "its shard is not one of this work", nil)
			case folder == doneName:
				found[shard] = true
			default:
				sizes[info.Name] = info.Size
			}
		}
	}
	return sizes, found, nil
}

// Drop removes the shards of a work folder, and what was shared; answers that were paid for are elsewhere and stay. It
// is an error that a worker is alive, and ErrNoWork that the folder is none of work: it may hold anything.
func Drop(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	folder, err := o.Work.Folder(ctx)
	if err != nil {
		return err
	}
	w := &Work{folder: folder, o: o, machine: thisMachine()}
	if w.o.Progress == nil {
		w.o.Progress = progress.Silent{}
	}
	if _, err := readManifest(ctx, folder); err != nil {
		return orNoWork(folder, err)
	}
	if err := w.idle(ctx); err != nil {
		return err
	}
	for _, prefix := range []string{doneName, partsName, failedName, claimsName, clockName, sharedName, manifestName} {
		for info, err := range folder.List(ctx, prefix) {
			if err == nil {
				err = folder.Delete(ctx, info.Name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// errBusy says that a worker is at a shard.
var errBusy = errors.New("a worker is alive")

// idle is an error if a worker is alive.
func (w *Work) idle(ctx context.Context) error {
	now, err := now(ctx, w.folder, w.machine.Worker)
	if err != nil {
		return err
	}
	for info, err := range w.folder.List(ctx, claimsName) {
		if err != nil {
			return err
		}
		if silent(info.Modified, now, w.o.Lease) {
			continue
		}
		if shard, n, ok := attemptOf(info.Name, claimsName, ""); ok {
			if failed, err := w.exists(ctx, failedOf(shard, n)); err != nil {
				return err
			} else if failed {
				continue
			}
		}
		return hint.With(fmt.Errorf("work folder %q: %w (%s)", w.folder.String(), errBusy, info.Name), "stop all workers, and wait for the time of --lease")
	}
	return nil
}
