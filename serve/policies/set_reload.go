package policies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// policyEnding is the file extension of policies.
const policyEnding = ".onnx"

// fileState is the last known state of a file.
type fileState struct {
	info    os.FileInfo // nil: the file is missing
	encoder string      // identity of its encoder
	done    bool        // the file was read, or its absence was reported; otherwise it may still be changing
}

// same reports whether a file has not changed.
func (s fileState) same(now os.FileInfo, encoder string) bool {
	return s.info != nil && os.SameFile(s.info, now) && s.info.Size() == now.Size() && s.info.ModTime().Equal(now.ModTime()) && s.encoder == encoder
}

// Reload reads all files again and returns the result for each, sorted by name. A file is read, checked and warmed up before
// it replaces the previous version. That version is served until then, and closed when its last lease ends. A file that
// cannot be served changes nothing. A policy whose file is missing is removed, unless it is the default or the last one, or
// its folder cannot be read.
func (s *Set) Reload(ctx context.Context) []Change {
	changes, _ := s.reload(ctx, false)
	return changes
}

// reload is Reload, or one pass of Watch. A pass of Watch skips files that have not changed. It reads a changed file only if
// the file is the same as in the previous pass, and it keeps policies whose files are missing. again is true if a file may
// still be changing.
func (s *Set) reload(ctx context.Context, watch bool) (changes []Change, again bool) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.closed {
		return []Change{{Verdict: Refused, Reason: ErrClosed.Error(), Err: ErrClosed}}, false
	}
	priceChange, changed, again := s.loadPrices(ctx, watch)
	if changed {
		changes = append(changes, priceChange)
		s.logChange(ctx, priceChange)
	}
	policies, unsettled := s.reloadPolicies(ctx, watch)
	again = again || unsettled
	other := func(c Change) bool { return c.Verdict == Added || c.Verdict == Replaced || c.Verdict == Removed }
	if s.prices.refused != nil && len(policies) > 0 {
		now := s.pricing.Load().Digest
		priceChange = Change{Prices: true, File: s.settings.Prices, Old: now, New: now}
		used := false
		if slices.ContainsFunc(policies, other) { // the prices may fit the policies now
			priceChange = s.applyPrices(priceChange, false)
			used = priceChange.Err == nil
		}
		if !used {
			priceChange, used = s.usePair(ctx, priceChange, policies)
		}
		if used {
			changes = []Change{priceChange}
			s.logChange(ctx, priceChange)
			again = true
		}
	}
	return append(changes, policies...), again
}

// reloadPolicies is the part of reload for policies.
func (s *Set) reloadPolicies(ctx context.Context, watch bool) (changes []Change, again bool) {
	found := s.list()
	for _, f := range found.files {
		if f.err == nil && watch && s.isSettling(f) {
			again = again || !s.seen[f.path].done
			continue
		}
		changes = append(changes, s.load(ctx, f))
	}
	changes = append(changes, found.refused...)
	changes = append(changes, s.missing(found, watch)...)
	slices.SortStableFunc(changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range changes {
		s.logChange(ctx, c)
	}
	return changes, again
}

// isSettling reports whether Watch should not read a file now: it has not changed, or it may still be changing.
func (s *Set) isSettling(f file) bool {
	last, known := s.seen[f.path]
	if known && last.same(f.info, f.encoder) {
		return last.done
	}
	s.seen[f.path] = fileState{info: f.info, encoder: f.encoder}
	return true
}

// file is a policy file in one of the paths.
type file struct {
	name, path string
	info       os.FileInfo
	encoder    string // identity of its encoder
	err        error  // why it cannot be read
}

// listing is the result of searching the paths of a set.
type listing struct {
	files      []file
	refused    []Change // paths that cannot be read
	unreadable []string // the same paths
}

// list searches all paths.
func (s *Set) list() *listing {
	l := &listing{}
	for _, path := range s.settings.Paths {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			l.folder(path)
		case errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, policyEnding) && !s.servesFrom(path):
			if s.served(path) == nil { // otherwise its file has gone missing, see missing
				l.files = append(l.files, file{name: nameOf(path), path: path, err: err})
			}
		case err != nil:
			l.addUnreadable(path, err)
		default:
			l.files = append(l.files, file{name: nameOf(path), path: path, info: info})
		}
	}
	l.removeDuplicates()
	for i := range l.files {
		l.files[i].encoder = encoderIdentity(s.settings.Encoders[l.files[i].name])
	}
	return l
}

// removeDuplicates removes files that were found twice, for example by their name and in a folder. It refuses different
// files of the same name.
func (l *listing) removeDuplicates() {
	first := map[string]file{}
	files := l.files[:0]
	for _, f := range l.files {
		other, twice := first[f.name]
		switch {
		case twice && other.same(f):
			continue
		case !twice:
			first[f.name] = f
		case f.err == nil:
			f.err = fmt.Errorf("%q and %q have the same name: rename one", other.path, f.path)
		}
		files = append(files, f)
	}
	l.files = files
}

// same reports whether two files are the same file, even by different paths.
func (f file) same(other file) bool {
	return f.path == other.path || f.info != nil && other.info != nil && os.SameFile(f.info, other.info)
}

// folder adds the policies of a folder.
func (l *listing) folder(path string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		l.addUnreadable(path, err)
		return
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), policyEnding) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f := file{name: nameOf(e.Name()), path: filepath.Join(path, e.Name())}
		f.info, f.err = os.Stat(f.path)
		if errors.Is(f.err, fs.ErrNotExist) {
			continue // removed meanwhile, or a dangling link
		}
		if f.err == nil && f.info.IsDir() {
			continue
		}
		l.files = append(l.files, f)
	}
}

// addUnreadable adds a path that cannot be read.
func (l *listing) addUnreadable(path string, err error) {
	l.unreadable = append(l.unreadable, path)
	l.refused = append(l.refused, Change{File: path, Verdict: Refused, Reason: err.Error(), Err: err})
}

// nameOf returns the name of the policy of a file.
func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), policyEnding) }

// served returns the policy that was read from a path; nil if there is none.
func (s *Set) served(path string) *Policy {
	for _, p := range *s.current.Load() {
		if p.File == path {
			return p
		}
	}
	return nil
}

// servesFrom reports whether a policy from a folder is served.
func (s *Set) servesFrom(folder string) bool {
	for _, p := range *s.current.Load() {
		if filepath.Dir(p.File) == folder {
			return true
		}
	}
	return false
}

// load reads a file, and serves its policy if it is new and valid.
func (s *Set) load(ctx context.Context, f file) Change {
	old := (*s.current.Load())[f.name]
	c := Change{Name: f.name, File: f.path}
	if old != nil {
		c.Old, c.New = old.Digest, old.Digest
	}
	p, err := s.open(ctx, f, old, s.pricing.Load())
	switch {
	case err != nil:
		c.Verdict, c.Reason, c.Err = Refused, err.Error(), err
	case p == nil:
		c.Verdict = Unchanged
	default:
		c = s.put(p, c)
	}
	if f.info != nil && !errors.Is(err, errChanging) && ctx.Err() == nil {
		s.seen[f.path] = fileState{info: f.info, encoder: f.encoder, done: true}
	}
	return c
}

// put serves a policy, in place of the version before it if there is one.
func (s *Set) put(p *Policy, c Change) Change {
	old := s.all()[p.Name]
	c.Verdict, c.New = Replaced, p.Digest
	if old == nil {
		c.Verdict = Added
	}
	s.swap(func(all map[string]*Policy) { all[p.Name] = p })
	if old != nil {
		old.Release()
	}
	return c
}

// swap changes the policies that are served, atomically.
func (s *Set) swap(change func(all map[string]*Policy)) {
	all := maps.Clone(*s.current.Load())
	change(all)
	s.current.Store(&all)
}

// missing removes or keeps the policies whose files are missing.
func (s *Set) missing(found *listing, watch bool) (changes []Change) {
	here := map[string]bool{}
	for _, f := range found.files {
		here[f.path] = true
	}
	for _, name := range s.Names() {
		p := (*s.current.Load())[name]
		last, known := s.seen[p.File]
		if here[p.File] || slices.ContainsFunc(found.unreadable, func(path string) bool { return path == p.File || path == filepath.Dir(p.File) }) {
			continue
		}
		c := Change{Name: name, File: p.File, Old: p.Digest, New: p.Digest, Verdict: Kept}
		switch {
		case watch && known && last.info == nil && last.done:
			continue // reported before
		case watch:
			c.Reason = "its file has gone; it is served until a reload is asked for"
		case name == s.settings.Default:
			c.Reason = "its file has gone, but it is the default"
		case len(*s.current.Load()) == 1:
			c.Reason = "its file has gone, but it is the only policy"
		default:
			c.Verdict, c.New = Removed, ""
			s.swap(func(all map[string]*Policy) { delete(all, name) })
			p.Release()
		}
		s.seen[p.File] = fileState{done: true}
		changes = append(changes, c)
	}
	return changes
}

// logChange logs and counts a change.
func (s *Set) logChange(ctx context.Context, c Change) {
	attrs := []any{"policy", c.Name, "file", c.File, "verdict", string(c.Verdict), "old", c.Old, "new", c.New}
	if c.Prices {
		s.logPrices(ctx, c)
		return
	}
	switch c.Verdict {
	case Unchanged:
		s.log.DebugContext(ctx, "policy", attrs...)
	case Refused:
		s.metrics.Reload(c.Name, false)
		s.log.WarnContext(ctx, "policy", append(attrs, "reason", c.Reason)...)
	case Kept:
		s.log.WarnContext(ctx, "policy", append(attrs, "reason", c.Reason)...)
	default:
		s.metrics.Reload(c.Name, true)
		s.log.InfoContext(ctx, "policy", attrs...)
	}
}

// logPrices logs and counts what became of the price file.
func (s *Set) logPrices(ctx context.Context, c Change) {
	attrs := []any{"file", c.File, "verdict", string(c.Verdict), "old", c.Old, "new", c.New}
	s.metrics.Prices(c.Err == nil)
	switch c.Verdict {
	case Refused:
		s.log.WarnContext(ctx, "prices", append(attrs, "reason", c.Reason)...)
	case Unchanged:
		s.log.DebugContext(ctx, "prices", attrs...)
	default:
		s.log.InfoContext(ctx, "prices", append(attrs, "policies", s.PriceFile().Policies)...)
	}
}
