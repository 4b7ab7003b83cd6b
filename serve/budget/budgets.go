package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/serve/ledger"
)

// Budgets are the budgets of a server, with what was spent of each. It is safe for concurrent use.
type Budgets struct {
	settings Settings
	shared   *storage.Folder // nil: the budgets are those of this server alone
	now      func() time.Time
	log      *slog.Logger
	stop     chan struct{}
	done     sync.WaitGroup
	usage    *usage
	changed  atomic.Bool // since the pace was saved
	totals   []*member   // the budgets of all calls together
	experts  []int       // the budgets of experts, by their place in the settings

	mu      sync.Mutex
	members map[memberKey]*member
	saved   map[string]memberPace // of members that were not used yet
}

type memberKey struct {
	budget int
	of     string
}

// Options say how budgets are kept.
type Options struct {
	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: none
}

// How often ledgers, and what was learned of the traffic, are written while something is spent.
const (
	flushEvery = time.Second
	paceEvery  = 5 * time.Second
)

// maxMembers bounds the memory of budgets of names that callers bring.
const maxMembers = 100_000

// Open opens budgets. The caller closes them. The folder must be of no other running process.
func Open(ctx context.Context, s Settings, o Options) (*Budgets, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s.List = slices.Clone(s.List)
	for i := range s.List {
		s.List[i].AtEnd = cmp.Or(s.List[i].AtEnd, Cheapest)
	}
	b := &Budgets{settings: s, now: o.Now, log: o.Log, stop: make(chan struct{}), members: map[memberKey]*member{}, usage: newUsage()}
	if b.now == nil {
		b.now = time.Now
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.Shared != "" {
		if b.shared, err = s.Shared.Location().Folder(ctx); err != nil {
			return nil, fmt.Errorf("budgets: %w", err)
		}
	}
	if s.Folder != "" {
		if _, err := atomicfile.MkdirAll(s.Folder); err != nil {
			return nil, fmt.Errorf("budgets: %w", err)
		}
	}
	if err := b.load(); err != nil {
		return nil, err
	}
	if err := b.openTotals(); err != nil {
		return nil, errors.Join(err, b.closeMembers())
	}
	b.done.Go(b.keep)
	return b, nil
}

// openTotals opens the budgets whose members are known, so that a problem of their files is found at the start.
func (b *Budgets) openTotals() error {
	for i := range b.settings.List {
		names := b.settings.List[i].Only
		switch b.settings.List[i].Of {
		case Total:
			names = []string{""}
		case Expert:
			b.experts = append(b.experts, i)
		}
		for _, name := range names {
			m, err := b.member(i, name)
			if err != nil {
				return err
			}
			if m.Of == Total {
				b.totals = append(b.totals, m)
			}
		}
	}
	return nil
}

// member returns a member of a budget, and opens it if it is new.
func (b *Budgets) member(i int, of string) (*member, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := memberKey{i, of}
	if m := b.members[key]; m != nil {
		return m, nil
	}
	if len(b.members) >= maxMembers {
		return nil, fmt.Errorf("budgets: there are more than %d keys, policies and experts with budgets", maxMembers)
	}
	m := &member{Budget: &b.settings.List[i], of: of, now: b.now}
	o := ledger.Options{Every: flushEvery, Now: b.now, Log: b.log}
	file := m.Name
	if of != "" {
		file += "@" + url.PathEscape(of)
	}
	switch {
	case b.shared != nil:
		o.Shared = b.shared.Sub(file)
	case b.settings.Folder != "":
		o.File = filepath.Join(b.settings.Folder, file+".json")
	}
	var err error
	if m.ledger, err = ledger.Open("budget "+m.label(), ledger.Settings{Cost: m.Limit(), Per: m.Per}, o); err != nil {
		return nil, fmt.Errorf("budget %s: %w", m.label(), err)
	}
	if pace, ok := b.saved[m.label()]; ok {
		m.restore(pace)
		delete(b.saved, m.label())
	}
	b.members[key] = m
	return m, nil
}

// all returns the members in the order of the settings, then by name.
func (b *Budgets) all() []*member {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys := make([]memberKey, 0, len(b.members))
	for key := range b.members {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(x, y memberKey) int { return cmp.Or(cmp.Compare(x.budget, y.budget), cmp.Compare(x.of, y.of)) })
	out := make([]*member, len(keys))
	for i, key := range keys {
		out[i] = b.members[key]
	}
	return out
}

// States returns the state of every budget that was used, and of those whose names are in the settings.
func (b *Budgets) States() []State {
	list := []State{}
	for _, m := range b.all() {
		list = append(list, m.state(b.shared != nil))
	}
	return list
}

// NeedsMoney reports whether one of the budgets is one of money.
func (s *Settings) NeedsMoney() bool {
	return slices.ContainsFunc(s.List, func(b Budget) bool { return b.Money != 0 })
}

// keep writes the pace now and then, until Close.
func (b *Budgets) keep() {
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
		}
		if !b.changed.Swap(false) {
			continue
		}
		err := b.save()
		if err != nil && !failing {
			b.log.Error("what is known of the traffic of budgets could not be saved; after a restart their prices begin anew", "error", err.Error())
		}
		failing = err != nil
	}
}

// Close writes what was spent, and gives back to other servers what this one has reserved and not spent. It must be called once.
func (b *Budgets) Close() error {
	close(b.stop)
	b.done.Wait()
	return errors.Join(b.save(), b.closeMembers())
}

func (b *Budgets) closeMembers() error {
	var errs []error
	for _, m := range b.all() {
		errs = append(errs, m.ledger.Close())
	}
	return errors.Join(errs...)
}
