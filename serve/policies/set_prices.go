package policies

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"pipe/costs/prices"
	"pipe/internal/digest"
	"pipe/internal/storage"
)

// Pricing returns the current state of the price file.
func (s *Set) Pricing() *Pricing { return s.pricing.Load() }

// PriceFile is the state of the price file of a set.
type PriceFile struct {
	File     string    `json:"file"`
	Digest   string    `json:"digest"`   // of the prices that are in use
	Loaded   time.Time `json:"loaded"`   // when they were read
	Policies []string  `json:"policies"` // that decide at them
	Refused  string    `json:"refused"`  // why the file is not in use as it is now, so that the prices before are; empty: it is in use
}

// PriceFile describes the price file; nil if there is none.
func (s *Set) PriceFile() *PriceFile {
	if s.settings.Prices == "" {
		return nil
	}
	at := s.pricing.Load()
	out := &PriceFile{File: s.settings.Prices, Digest: at.Digest, Loaded: at.Loaded.UTC(), Policies: []string{}}
	if why := s.priceProblem.Load(); why != nil {
		out.Refused = *why
	}
	for name, p := range s.all() {
		if RepricesUsage(p.Info()) {
			out.Policies = append(out.Policies, name)
		}
	}
	slices.Sort(out.Policies)
	return out
}

// priceSource is what a set knows of its price file. The lock of reloads guards it.
type priceSource struct {
	seen    fileState
	list    *prices.Table // all periods of the content that was read last; nil: it could not be read
	refused *Pricing      // of that content, which does not fit the policies; nil: it does
}

// loadPrices reads the price file. A pass of Watch reads it only if it has changed and settled, or if another period has begun.
// changed is false if there is nothing to report.
func (s *Set) loadPrices(ctx context.Context, watch bool) (c Change, changed, again bool) {
	if s.settings.Prices == "" {
		return c, false, false
	}
	c = Change{Prices: true, File: s.settings.Prices, Old: s.pricing.Load().Digest}
	c.New = c.Old
	info, err := os.Stat(s.settings.Prices)
	switch {
	case err != nil:
		if watch && s.prices.seen.info == nil && s.prices.seen.done {
			return c, false, false
		}
		s.prices = priceSource{seen: fileState{done: true}}
		return s.refusePrices(c, err), true, false
	case watch && !s.prices.seen.same(info, ""):
		s.prices.seen = fileState{info: info}
		return c, false, true
	case watch && s.prices.seen.done:
		if s.prices.list == nil {
			return c, false, false
		}
		c = s.applyPrices(c, true) // another period may have begun
		return c, c.Verdict != Unchanged, false
	}
	s.prices.seen = fileState{info: info, done: true}
	list, err := prices.Read(ctx, storage.File(s.settings.Prices))
	if after, failed := os.Stat(s.settings.Prices); err == nil && (failed != nil || !s.prices.seen.same(after, "")) {
		s.prices.seen.done = false
		err = fmt.Errorf("%q: %w", s.settings.Prices, errChanging)
	}
	if err != nil {
		s.prices.list, s.prices.refused = nil, nil
		return s.refusePrices(c, err), true, errors.Is(err, errChanging)
	}
	s.prices.list = list
	return s.applyPrices(c, false), true, false
}

// applyPrices puts the prices of the list that hold now in use, if they fit all policies. A pass of Watch tries prices that were
// refused no more.
func (s *Set) applyPrices(c Change, watch bool) Change {
	next := &Pricing{Loaded: time.Now(), list: pricesNow(s.prices.list, time.Now())}
	var err error
	if next.Digest, err = digest.JSON(next.list); err != nil {
		return s.refusePrices(c, err)
	}
	switch refused := s.prices.refused; {
	case next.Digest == c.Old:
		s.prices.refused = nil
		s.priceProblem.Store(nil)
		c.Verdict = Unchanged
		return c
	case watch && refused != nil && refused.Digest == next.Digest:
		c.Verdict = Unchanged
		return c
	}
	if err := s.checkAll(s.all(), next); err != nil {
		s.prices.refused = next
		s.readAgain()
		return s.refusePrices(c, err)
	}
	return s.usePrices(c, next)
}

// usePrices puts prices that fit all policies in use.
func (s *Set) usePrices(c Change, next *Pricing) Change {
	s.prices.refused, c.Reason, c.Err = nil, "", nil
	s.pricing.Store(next)
	s.priceProblem.Store(nil)
	if c.Verdict = Replaced; c.Old == "" {
		c.Verdict = Added
	}
	c.New = next.Digest
	s.readAgain()
	return c
}

// usePair puts the prices that were refused in use together with the policies that were refused because of the prices before, if
// all policies fit then. It changes what is said of these policies.
func (s *Set) usePair(ctx context.Context, c Change, changes []Change) (_ Change, ok bool) {
	next, all, own := s.prices.refused, maps.Clone(s.all()), map[string]*Policy{}
	for _, f := range s.list().files {
		if !slices.ContainsFunc(changes, func(c Change) bool { return c.File == f.path && errors.As(c.Err, new(*PriceFileError)) }) {
			continue
		}
		if p, err := s.open(ctx, f, nil, next); err == nil {
			all[f.name], own[f.name] = p, p
		}
	}
	if len(own) == 0 || s.checkAll(all, next) != nil {
		for _, p := range own {
			p.Release()
		}
		return c, false
	}
	for i, old := range changes {
		if p := own[old.Name]; p != nil {
			changes[i] = s.put(p, Change{Name: old.Name, File: old.File, Old: old.Old})
			s.logChange(ctx, changes[i])
		}
	}
	return s.usePrices(c, next), true
}

// readAgain makes the next pass of Watch read all policies, because one that was refused may fit the prices now.
func (s *Set) readAgain() {
	for path, state := range s.seen {
		if state.info != nil {
			delete(s.seen, path)
		}
	}
}

// checkAll reports prices that do not fit a policy, the first by name.
func (s *Set) checkAll(all map[string]*Policy, at *Pricing) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := s.checkPrices(all[name], at); err != nil {
			return err
		}
	}
	return nil
}

// checkPrices reports prices that do not fit a policy.
func (s *Set) checkPrices(p *Policy, at *Pricing) error {
	if at.list == nil || !RepricesUsage(p.Info()) {
		return nil
	}
	if _, err := p.computePrices(at); err != nil {
		return &PriceFileError{s.settings.Prices, p.Name, err}
	}
	return nil
}

func (s *Set) refusePrices(c Change, err error) Change {
	c.Verdict, c.Reason, c.Err = Refused, err.Error(), err
	s.priceProblem.Store(&c.Reason)
	return c
}

// pricesNow has the period of every model that holds at a time. A model whose first period begins later has no price.
func pricesNow(list *prices.Table, at time.Time) *prices.Table {
	out := &prices.Table{Currency: list.Currency, Models: map[string][]prices.Period{}}
	for model := range list.Models {
		if p, err := list.At(model, at.UnixMicro()); err == nil {
			out.Models[model] = []prices.Period{p}
		}
	}
	return out
}
