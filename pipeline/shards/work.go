package shards

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"pipe/internal/progress"
	"pipe/internal/storage"
)

// Options say where and how shards are worked at.
type Options struct {
	Work     storage.Location  // folder or URL; Beside names the usual one
	Lease    time.Duration     // after which a claim without a sign of life may be taken over; at least MinLease
	Tries    int               // failed attempts after which a shard is given up by Next
	Team     string            // begins the names of workers that one scheduler starts, see RunAlone; "": none
	Scratch  string            // local folder for temporary files; "": that of the system
	Progress progress.Progress // nil: none
}

// MinLease is the shortest lease: stores give times in whole seconds.
const MinLease = 3 * time.Second

// Default are the options for a work folder.
func Default(work storage.Location) Options {
	return Options{Work: work, Lease: 2 * time.Minute, Tries: 3}
}

// Validate reports every problem.
func (o *Options) Validate() error {
	var problems []error
	if o.Work.IsZero() {
		problems = append(problems, errors.New("work folder: not set"))
	}
	if o.Lease < MinLease {
		problems = append(problems, fmt.Errorf("lease is %v; it must be at least %v", o.Lease, MinLease))
	}
	if o.Tries < 1 {
		problems = append(problems, fmt.Errorf("tries is %d; it must be at least 1", o.Tries))
	}
	return errors.Join(problems...)
}

// Beside is the work folder that belongs to an output, a path or a URL.
func Beside(out storage.Location) storage.Location {
	return out.Dir().Join(out.Base() + ".shards")
}

// Work is a stage at a work folder. It is safe for concurrent use.
type Work struct {
	stage    Stage
	manifest Manifest
	of       string // digest of the manifest
	folder   *storage.Folder
	o        Options
	machine  Machine

	prepared func(ctx context.Context) error
}

// Open joins the work of a folder, or begins it. The caller closes the stage, after the last call.
func Open(ctx context.Context, s Stage, o Options) (*Work, error) {
	w, err := open(ctx, s, o)
	if err != nil {
		return nil, err
	}
	if err := w.join(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

func open(ctx context.Context, s Stage, o Options) (*Work, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = progress.Silent{}
	}
	w := &Work{stage: s, manifest: s.Manifest(), o: o, machine: thisMachine()}
	if o.Team != "" {
		w.machine.Worker = o.Team + "." + w.machine.Worker
	}
	err := w.manifest.validate()
	if err == nil {
		w.of, err = w.manifest.digest()
	}
	if err == nil {
		w.folder, err = o.Work.Folder(ctx)
	}
	w.prepared = once(func(ctx context.Context) error { return s.Prepare(ctx, w.folder) })
	return w, err
}

// once returns a function that calls do until it succeeds, one call at a time, and then does nothing.
func once(do func(ctx context.Context) error) func(ctx context.Context) error {
	var mu sync.Mutex
	done := false
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return nil
		}
		err := do(ctx)
		done = err == nil
		return err
	}
}

// join writes the manifest, or compares it with that of the first worker.
func (w *Work) join(ctx context.Context) error {
	was, err := readManifest(ctx, w.folder)
	if errors.Is(err, fs.ErrNotExist) {
		err = writeJSON(ctx, w.folder, manifestName, manifestFile{format, w.manifest}, storage.WriteOptions{IfNotExist: true})
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		was, err = readManifest(ctx, w.folder)
	}
	if err != nil {
		return err
	}
	return w.compare(was)
}

func (w *Work) compare(was Manifest) error {
	if changes := was.changes(w.manifest); len(changes) > 0 {
		return &ChangedError{w.folder.String(), changes}
	}
	return nil
}

// Folder returns the work folder.
func (w *Work) Folder() *storage.Folder { return w.folder }

// Shards returns the number of shards.
func (w *Work) Shards() int { return w.manifest.Shards }
