package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"pipe/internal/filelock"
)

// Learner is an expert that has something to make before it answers: most learn
// from the build's training rows.
type Learner interface {
	Expert
	// Train makes the expert ready for Predict. It is called once, before the
	// first Predict, under the lock of the build's work folder. Files that are
	// complete stay in t.Experts, and half-done work in t.Scratch, so that a
	// build that was killed goes on from there and ends with the same bytes.
	Train(ctx context.Context, t *Training) error
}

// Training is what a build lends to a Learner.
type Training struct {
	Experts  string // folder for files that stay; it exists
	Scratch  string // folder for checkpoints, which the build removes when all have learnt; it need not exist
	Workers  int    // goroutines at a time
	Progress Progress

	plan *plan
}

// Load returns instances of the build, as Source.Load does.
func (t *Training) Load(ctx context.Context, rows []int) ([]Instance, error) {
	return t.plan.source.Load(ctx, rows)
}

// Show returns what a level of advice shows of instances.
func (t *Training) Show(ctx context.Context, level int, batch []Instance) ([]Shown, error) {
	return t.plan.show(ctx, level, batch)
}

// Lessons returns what the experts of the build learn from. The first caller
// decides that the build has any: its inputs then say how training rows are
// answered.
func (s *Setup) Lessons(ctx context.Context) (*Lessons, error) {
	if s.lessons != nil {
		return s.lessons, nil
	}
	var twins []int
	if source, ok := s.Source.(Repeating); ok && s.cfg.CrossFit > 0 {
		var err error
		if twins, err = source.Twins(ctx); err != nil {
			return nil, err
		}
	}
	l, err := newLessons(s.Source.Entries(), s.training(), s.Labels, s.cfg.CrossFit, s.cfg.FoldSeed, twins)
	if err != nil {
		return nil, err
	}
	s.lessons = l
	s.inputs["cross_fit"] = l.how()
	if l.Folds > 0 {
		return l, s.inputs.settings("folds", s.cfg.FoldSeed)
	}
	return l, nil
}

// ready makes everything that the shards of some rows need: the vectors of
// texts, and experts that have learnt.
func (p *plan) ready(ctx context.Context, w *work, rows []int, o *Options) (err error) {
	learners := p.learners()
	if len(learners) == 0 && len(p.embedders) == 0 {
		return nil
	}
	folder := o.experts(w.out)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	// Builds that share the folder get ready one after the other: what the first
	// has made, the second finds.
	l, err := filelock.Wait(ctx, filepath.Join(folder, lockName), o.waits)
	if err != nil {
		return fmt.Errorf("folder of experts: %w", err)
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	if err := p.embed(ctx, rows, o, folder); err != nil {
		return err
	}
	return p.train(ctx, w, learners, o, folder)
}

// train lets every Learner learn, one after the other.
func (p *plan) train(ctx context.Context, w *work, learners []namedExpert, o *Options, folder string) error {
	for _, e := range learners {
		t := &Training{
			Experts: folder, Scratch: filepath.Join(w.training(), e.name),
			Workers: p.workers(), Progress: o.Progress, plan: p,
		}
		if err := e.Expert.(Learner).Train(ctx, t); err != nil {
			return &PartError{expertPart(e.name), err}
		}
		// The rows that it learnt from are gone; shards should not run beside
		// a heap of their size.
		debug.FreeOSMemory()
	}
	return os.RemoveAll(w.training())
}

func (p *plan) learners() []namedExpert {
	var list []namedExpert
	for _, e := range p.experts {
		if _, ok := e.Expert.(Learner); ok {
			list = append(list, e)
		}
	}
	return list
}

// experts is the folder of trained experts: the one that is named, else
// "experts" beside the output.
func (o *Options) experts(out string) string {
	if o.Experts != "" {
		return o.Experts
	}
	return filepath.Join(filepath.Dir(out), "experts")
}
