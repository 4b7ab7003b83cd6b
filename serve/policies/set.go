package policies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pipe/internal/hint"
	"pipe/onnx/ort"
	"pipe/serve/metrics"
)

// Set has the policies of a server by name. All methods are safe for concurrent use.
type Set struct {
	settings    Settings
	runtime     *ort.Runtime
	ownsRuntime bool // Close closes it
	metrics     *metrics.Metrics
	log         *slog.Logger
	queues      *queues
	encoders    encoders

	current      atomic.Pointer[map[string]*Policy]
	pricing      atomic.Pointer[Pricing]
	priceProblem atomic.Pointer[string] // why the price file is not in use as it is now; nil: it is

	reloading sync.Mutex // one reload at a time; guards the fields below
	closed    bool
	live      sync.WaitGroup       // open versions
	seen      map[string]fileState // the last known state of files, by path
	prices    priceSource
	fits      func(*Policy) error // nil: every valid policy

	others others
}

// Open reads, checks and warms up the policies. It returns an error if a named file cannot be served, or if no policy can be
// served at all. Other files of a folder that cannot be served are logged, counted and left out. The runtime must outlive
// the set, and should have one thread; nil: the set opens and closes its own. m and log may be nil.
func Open(ctx context.Context, s Settings, rt *ort.Runtime, m *metrics.Metrics, log *slog.Logger) (_ *Set, err error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s.Paths = slices.Clone(s.Paths)
	for i, path := range s.Paths {
		s.Paths[i] = filepath.Clean(path) // in the same form as the paths of files in a folder
	}
	set := &Set{settings: s, runtime: rt, metrics: m, log: log, seen: map[string]fileState{}}
	set.current.Store(&map[string]*Policy{})
	set.pricing.Store(&Pricing{})
	if rt == nil {
		cfg := ort.DefaultConfig()
		cfg.Threads = 1
		if set.runtime, err = ort.Open(cfg); err != nil {
			return nil, err
		}
		set.ownsRuntime = true
	}
	of := func(stage string, load int) *queue {
		return &queue{stage: stage, maxLoad: load, workers: s.workers(), maxRows: s.BatchRows, maxWaiting: s.QueueRows, delay: s.BatchDelay, metrics: m}
	}
	set.queues = &queues{encode: of("encode", s.BatchTokens), decide: of("decide", 0)}
	if err := set.openAll(ctx); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return set, nil
}

// openAll loads all files. The error says why the set cannot be used.
func (s *Set) openAll(ctx context.Context) error {
	var problems, all []error
	for _, c := range s.Reload(ctx) {
		if c.Err != nil {
			all = append(all, c.Err)
		}
		if c.Err != nil && (c.Prices || errors.As(c.Err, new(*PriceFileError)) || slices.Contains(s.settings.Paths, c.File) || c.File == "") {
			problems = append(problems, c.Err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	names := s.Names()
	if len(names) == 0 {
		none := fmt.Errorf("no policy can be served of %s", strings.Join(s.settings.Paths, ", "))
		if len(all) == 0 {
			none = hint.With(none, "give a file ending in .onnx that pipe train wrote, or its folder")
		}
		return errors.Join(append(all, none)...)
	}
	if f := s.PriceFile(); f != nil && len(f.Policies) == 0 {
		return fmt.Errorf("prices %q: no policy takes prices of tokens: only an any-price policy that was trained on a table with usage does", f.File)
	}
	if d := s.settings.Default; d != "" && !slices.Contains(names, d) {
		return errors.Join(append(all, fmt.Errorf("default: %w", &UnknownError{d, names}))...)
	}
	for name := range s.settings.Encoders {
		if !slices.Contains(names, name) {
			return errors.Join(append(all, fmt.Errorf("encoders: %w", &UnknownError{name, names}))...)
		}
	}
	return nil
}

// Require refuses policies that are loaded from now on if fits returns why they cannot take the place of their name.
func (s *Set) Require(fits func(*Policy) error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.fits = fits
}

// Names returns the names of the policies, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.all())) }

// all returns the policies that are served; none after Close.
func (s *Set) all() map[string]*Policy {
	if all := s.current.Load(); all != nil {
		return *all
	}
	return nil
}

// Default returns the name of the policy for requests that name none; empty: requests must name one.
func (s *Set) Default() string {
	if s.settings.Default != "" {
		return s.settings.Default
	}
	if all := s.all(); len(all) == 1 {
		for name := range all {
			return name
		}
	}
	return ""
}

// Acquire leases the current version of a policy; the caller must call Release once. The name "" is the default policy.
// NAME@DIGEST is a version, by at least 8 characters of its digest; it must be the current one. The error is an
// *UnknownError for an unknown name or version.
func (s *Set) Acquire(name string) (*Policy, error) {
	for {
		all := s.current.Load()
		if all == nil {
			return nil, ErrClosed
		}
		p := s.find(*all, name)
		if p == nil {
			return nil, &UnknownError{name, slices.Sorted(maps.Keys(*all))}
		}
		if p.lease() {
			return p, nil
		}
		// It was replaced in between.
	}
}

// minDigest is the least number of characters of a digest that name a version. Some clients use version numbers, such as 2
// or 12, which must not match a digest by accident.
const minDigest = 8

// find returns the policy with a name, nil if there is none.
func (s *Set) find(all map[string]*Policy, name string) *Policy {
	if p := all[name]; p != nil {
		return p
	}
	if name == "" {
		return all[s.Default()]
	}
	at := strings.LastIndexByte(name, '@')
	if at < 0 {
		return nil
	}
	if p := all[name[:at]]; p != nil && len(name[at+1:]) >= minDigest && strings.HasPrefix(p.Digest, name[at+1:]) {
		return p
	}
	return nil
}

// Close refuses new leases, waits until all have ended, and closes everything. It is idempotent.
func (s *Set) Close() error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	all := *s.current.Swap(nil)
	for _, p := range all {
		p.Release()
	}
	s.live.Wait()
	var errs []error
	for _, p := range all {
		errs = append(errs, p.failed)
	}
	if s.ownsRuntime {
		errs = append(errs, s.runtime.Close())
	}
	return errors.Join(errs...)
}
