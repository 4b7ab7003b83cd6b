package shards

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

// Run makes a shard unless it is done, even if another worker has claimed it. made says that this call was the first to finish it.
func (w *Work) Run(ctx context.Context, shard int) (d *Done, made bool, err error) {
	if shard < 0 || shard >= w.manifest.Shards {
		return nil, false, fmt.Errorf("shard %d: there are %d shards, numbered from 0", shard, w.manifest.Shards)
	}
	d, err = readDone(ctx, w.folder, w.of, shard)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return d, false, err
	}
	attempt, err := w.claimAny(ctx, shard)
	if err != nil {
		return nil, false, err
	}
	return w.claimed(ctx, shard, attempt)
}

// exists reports whether the work folder has an object of a name.
func (w *Work) exists(ctx context.Context, name string) (bool, error) {
	_, err := w.folder.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// attempt makes a claimed shard and ends the claim. A failure of the shard is recorded, which ends the claim too: it stays,
// so that a worker that read the names before does not make the same attempt again.
func (w *Work) attempt(ctx context.Context, shard, attempt int) (d *Done, made bool, err error) {
	beating := beat(ctx, w.folder, claimOf(shard, attempt), w.machine.Worker, w.o.Lease)
	if err = w.prepared(ctx); err == nil {
		d, made, err = w.make(ctx, shard, attempt)
	}
	beating()
	// The claim is dropped also where ctx has ended, so that others can go on at once.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err != nil && ctx.Err() == nil && !w.stops(err) {
		f := failure{err.Error(), w.machine.Worker, time.Now().UTC()}
		failed := writeJSON(last, w.folder, failedOf(shard, attempt), f, storage.WriteOptions{})
		if failed == nil {
			return d, made, err
		}
		err = &unrecordedError{err, failed}
	}
	if dropped := w.folder.Delete(last, claimOf(shard, attempt)); dropped != nil && err == nil {
		w.o.Progress.Note("shard %d is done, but its claim stays: %v", shard, dropped)
	}
	return d, made, err
}

// stops reports whether an error would meet every shard.
func (w *Work) stops(err error) bool {
	var diverged *DivergedError
	s, ok := w.stage.(stopper)
	return errors.As(err, &diverged) || ok && s.Stops(err)
}

// make makes a shard, uploads its files, and commits it.
func (w *Work) make(ctx context.Context, shard, attempt int) (_ *Done, made bool, err error) {
	start := time.Now()
	folder, remove, err := atomicfile.TempFolder(w.o.Scratch, "pipe-shard-*")
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r, err := w.stage.Shard(ctx, shard, folder)
	if err != nil {
		return nil, false, fmt.Errorf("shard %d: %w", shard, err)
	}
	d := &Done{Format: format, Of: w.of, Shard: shard, Attempt: attempt, Counts: r.Counts, Machine: w.machine}
	for _, name := range r.Files {
		f, err := w.upload(ctx, shard, folder, name)
		if err != nil {
			return nil, false, err
		}
		d.Files = append(d.Files, f)
	}
	d.Seconds, d.Finished = time.Since(start).Seconds(), time.Now().UTC()
	return w.commit(ctx, d)
}

// upload writes a file of a shard under the name of its content: a second run of the shard writes the same.
func (w *Work) upload(ctx context.Context, shard int, folder, name string) (File, error) {
	if !plain(name) {
		return File{}, fmt.Errorf("shard %d: %q is not the name of a file in its folder", shard, name)
	}
	sum, size, err := digestFile(filepath.Join(folder, name))
	if err != nil {
		return File{}, err
	}
	f := File{Name: name, Part: partOf(shard, sum, name), Size: size, Digest: sum}
	err = w.folder.Upload(ctx, f.Part, filepath.Join(folder, name))
	return f, errors.Join(err, os.Remove(filepath.Join(folder, name)))
}

// commit records a shard as done. If another run was first, the files must be the same.
func (w *Work) commit(ctx context.Context, d *Done) (_ *Done, made bool, err error) {
	err = writeJSON(ctx, w.folder, doneOf(d.Shard), d, storage.WriteOptions{IfNotExist: true})
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return d, err == nil, err
	}
	first, err := readDone(ctx, w.folder, w.of, d.Shard)
	if err != nil {
		return nil, false, err
	}
	for i := range max(len(first.Files), len(d.Files)) {
		if i >= len(first.Files) || i >= len(d.Files) || first.Files[i] != d.Files[i] {
			file := append(d.Files[min(i, len(d.Files)):], first.Files[min(i, len(first.Files)):]...)[0]
			return nil, false, &DivergedError{d.Shard, file.Name, first.Machine, d.Machine}
		}
	}
	return first, false, nil
}
