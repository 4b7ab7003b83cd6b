package builder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/atomicfile"
	"pipe/internal/filelock"
	"pipe/internal/storage"
)

// prepare makes everything that the shards of some rows need: the vectors of
// texts, and experts that have learnt.
func (p *plan) prepare(ctx context.Context, w *work, rows []int, o *Options) (err error) {
	experts := slices.DeleteFunc(slices.Clone(p.Experts), func(e part.NamedExpert) bool { return !prepares(e) })
	shared := part.Opened[part.Preparer](p.Build)
	if len(experts)+len(shared) == 0 {
		return nil
	}
	folder := o.experts(storage.File(w.out))
	l, err := o.lockExperts(ctx, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	for _, s := range shared {
		if err := s.Prepare(ctx, p.preparation(folder, w.training(), rows, o)); err != nil {
			return err
		}
	}
	for _, e := range experts {
		scratch := filepath.Join(w.training(), e.Name)
		if err := e.Expert.(part.Preparer).Prepare(ctx, p.preparation(folder, scratch, rows, o)); err != nil {
			return &PartError{part.ExpertName(e.Name), err}
		}
		// The rows that it learnt from are gone; shards should not run beside
		// a heap of their size.
		debug.FreeOSMemory()
	}
	return os.RemoveAll(w.training())
}

func prepares(e part.NamedExpert) bool {
	_, ok := e.Expert.(part.Preparer)
	return ok
}

// preparation passes the build to a Preparer.
func (p *plan) preparation(folder, scratch string, rows []int, o *Options) *part.Preparation {
	return &part.Preparation{
		Folder: folder, Scratch: scratch, Rows: rows, Workers: p.Workers, Progress: o.Progress, Checkpoint: o.checkpoint(),
		Load: p.Load, Show: p.show,
		Batches: func(rows []int) [][]int {
			var list [][]int
			for _, b := range p.cut(rows) {
				list = append(list, b.rows)
			}
			return list
		},
	}
}

// OutputFiles are the files with fixed names that a build with this output and this folder of answers (Options) may
// create or replace. An invalid output has none.
func OutputFiles(ctx context.Context, out storage.Location, answers string) []storage.Location {
	file, err := OutputFile(ctx, out)
	if err != nil {
		return nil
	}
	o := Options{Answers: answers}
	w := work{out: file.Path()}
	return []storage.Location{file, storage.File(w.auditFile()), storage.File(filepath.Join(o.answers(file), chat.AnswersFile))}
}

// lockExperts makes the folder of trained experts and takes its lock. Builds that share the folder work there one after
// the other: the second finds what the first has made, and none disturbs the measurements of another.
func (o *Options) lockExperts(ctx context.Context, folder string) (*filelock.Lock, error) {
	if _, err := atomicfile.MkdirAll(folder); err != nil {
		return nil, err
	}
	l, err := filelock.Wait(ctx, filepath.Join(folder, lockName), o.waits)
	if err != nil {
		return nil, fmt.Errorf("folder of experts: %w", err)
	}
	return l, nil
}
