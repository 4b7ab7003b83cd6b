package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/cmd/cli"
	"pipe/internal/storage"
	"pipe/pipeline/sharded"
	"pipe/pipeline/shards"
)

// shardFlags are the flags of a command whose work many machines can share.
type shardFlags struct {
	shards  int
	shard   string
	gather  bool
	list    bool
	restart bool
	phase   string // of two: phaseFit or phaseTransform; "": both
	options shards.Options
	flags   *pflag.FlagSet
	report  func(report any) error // prints the report of gathering; nil: as every report
}

// The phases of work that has two.
const (
	phaseFit       = "fit"
	phaseTransform = "transform"
)

// nextShard as --shard has a worker take shards until none is left.
const nextShard = "next"

func (s *shardFlags) add(f *pflag.FlagSet) {
	s.options, s.flags = shards.Default(storage.Location{}), f
	f.IntVar(&s.shards, "shards", 0, "divide the work into `N` shards (docs/scale.md)")
	f.StringVar(&s.shard, "shard", "", "make these of the shards: a `list` such as 0-3,7, or next for one after the other until none is left")
	f.BoolVar(&s.gather, "gather", false, "make the output of the finished shards")
	f.BoolVar(&s.list, "list", false, "show the state of every shard; with --json a list of work for schedulers")
	if f.Lookup("restart") == nil { // a command of its own meaning sets s.restart
		f.BoolVar(&s.restart, "restart", false, "with --list: drop the finished shards")
	}
	cli.LocationVar(f, &s.options.Work, "work", "folder or URL that all workers reach (default: --out with .shards at its end)")
	f.DurationVar(&s.options.Lease, "lease", s.options.Lease, "with --shard next: take over a shard whose worker has been silent for this long")
	f.IntVar(&s.options.Tries, "tries", s.options.Tries, "with --shard next: give a shard up after this many failures")
}

// on reports whether the work is divided, or whether a flag says so that does nothing else.
func (s *shardFlags) on() bool {
	if s.shards != 0 || s.shard != "" || s.gather || s.list || s.restart {
		return true
	}
	for _, name := range []string{"shards", "shard", "work", "lease", "tries"} {
		if f := s.flags.Lookup(name); f != nil && f.Changed {
			return true
		}
	}
	return false
}

// check checks the flags against each other, and completes them. out is the output.
func (s *shardFlags) check(c *cobra.Command, a *app, out storage.Location) error {
	modes := 0
	for _, on := range []bool{s.shard != "", s.gather, s.list} {
		if on {
			modes++
		}
	}
	switch {
	case modes != 1:
		return usage(c, "shards need one of --shard, --gather and --list")
	case s.restart && !s.list:
		return usage(c, "--restart needs --list")
	case s.shard != "" && s.shards < 1:
		return usage(c, "--shard needs --shards, the number of all shards")
	case s.shards < 0 || s.shards > shards.MaxShards:
		return usage(c, "--shards %d: there are 1 to %d", s.shards, shards.MaxShards)
	case s.options.Work.IsZero() && (out.IsZero() || out.Path() == "-"):
		return usage(c, "shards need a folder that all workers reach (--work)")
	}
	if s.options.Work.IsZero() {
		s.options.Work = shards.Beside(out)
	}
	if s.shard != "" && s.shard != nextShard {
		if _, err := shards.Select(s.shard, s.shards); err != nil {
			return usage(c, "%v", err)
		}
	}
	s.options.Progress = a.Progress()
	if err := s.options.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	return nil
}

// count is the number of shards: that of the flag, else that of the work folder.
func (s *shardFlags) count(ctx context.Context) (int, error) {
	if s.shards > 0 {
		return s.shards, nil
	}
	l, err := shards.List(ctx, s.options.Work)
	if err != nil {
		return 0, err
	}
	return len(l.Shards), nil
}

// openStage opens the work for a number of shards. Work with two phases has two stages, with a work folder each; the
// first is nil if there is one phase.
type openStage func(n int, o shards.Options) (first, second shards.Stage, err error)

// run does what the flags say.
func (s *shardFlags) run(c *cobra.Command, a *app, out storage.Location, open openStage) (err error) {
	if err := s.check(c, a, out); err != nil {
		return err
	}
	if s.list {
		return s.showList(c.Context(), a)
	}
	n, err := s.count(c.Context())
	if err != nil {
		return err
	}
	first, second, err := open(n, s.options)
	if err != nil {
		return err
	}
	for _, stage := range []shards.Stage{first, second} {
		if stage != nil {
			defer func() { err = errors.Join(err, stage.Close()) }()
		}
	}
	if s.gather {
		report, err := shards.Gather(c.Context(), second, s.options)
		if err != nil {
			return err
		}
		return s.print(a, report)
	}
	if s.phase == phaseTransform {
		first = nil
	}
	if s.phase == phaseFit {
		second = nil
	}
	return s.work(c.Context(), a, first, second)
}

func (s *shardFlags) print(a *app, report any) error {
	if s.report != nil {
		return s.report(report)
	}
	return a.Print(report)
}

// showList prints the state of the shards, or drops them. Of work that other work comes before, it shows that until it is
// done.
func (s *shardFlags) showList(ctx context.Context, a *app) error {
	first := s.options
	before, none := (*shards.Listing)(nil), error(nil)
	for _, folder := range []string{sharded.FeaturizeFolder, sharded.PassFolder} {
		first.Work = s.options.Work.Join(folder)
		if before, none = shards.List(ctx, first.Work); none == nil {
			break
		}
	}
	if s.restart {
		err := shards.Drop(ctx, s.options)
		if none == nil { // the second phase may not have begun
			if errors.Is(err, shards.ErrNoWork) {
				err = nil
			}
			err = errors.Join(err, shards.Drop(ctx, first))
		}
		if err != nil {
			return err
		}
		a.Say("dropped the shards in %s", s.options.Work)
		return nil
	}
	if none == nil && before.Count(shards.StateDone) < len(before.Shards) {
		return a.Print(before)
	}
	l, err := shards.List(ctx, s.options.Work)
	if err != nil && none == nil {
		l, err = before, nil
	}
	if err != nil {
		return err
	}
	return a.Print(l)
}

// work makes shards.
func (s *shardFlags) work(ctx context.Context, a *app, stages ...shards.Stage) error {
	var sum *shards.Summary
	for i, stage := range stages {
		if stage == nil {
			continue
		}
		o := s.options
		if i == 0 {
			o.Work = o.Work.Join(sharded.FeaturizeFolder)
		}
		w, err := shards.Open(ctx, stage, o)
		if err != nil {
			return err
		}
		if sum, err = s.make(ctx, w); err != nil {
			return err
		}
		a.Say("%s: made %d shards in %.1f s, found %d of %d", stage.Manifest().Stage, len(sum.Made), sum.Seconds, sum.Found, sum.Shards)
	}
	if a.JSON {
		return a.Print(sum)
	}
	return nil
}

func (s *shardFlags) make(ctx context.Context, w *shards.Work) (*shards.Summary, error) {
	if s.shard == nextShard {
		return w.Next(ctx)
	}
	list, err := shards.Select(s.shard, s.shards)
	if err != nil {
		return nil, err
	}
	return w.RunAll(ctx, list)
}
