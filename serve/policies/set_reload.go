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

// policyEnding is that of the files of a folder that are policies.
const policyEnding = ".onnx"

// fileState is a file as a watch saw it last.
type fileState struct {
	info    os.FileInfo // nil: it has gone
	encoder string      // identity of its encoder
	done    bool        // it was read, or its absence reported; else it may still be changing
}

// same reports whether a file has not changed since.
func (s fileState) same(now os.FileInfo, encoder string) bool {
	return s.info != nil && os.SameFile(s.info, now) && s.info.Size() == now.Size() && s.info.ModTime().Equal(now.ModTime()) && s.encoder == encoder
}

// Reload reads all files again and returns what it did with each, in the order of names. Every file is read whole, checked
// and warmed up before it replaces the version before it, which is served until then and closed when its last lease ends. A
// file that cannot be served changes nothing. A policy whose file has gone is removed, except the default and the last
// one, and except where the folder cannot be read.
func (s *Set) Reload(ctx context.Context) []Change {
	changes, _ := s.reload(ctx, false)
	return changes
}

// reload is Reload, or for a watch: then files that have not changed are not read, files that have are read only if they
// are as they were in the pass before, and policies whose files have gone are kept. again reports that some may still be
// changing.
func (s *Set) reload(ctx context.Context, watch bool) (changes []Change, again bool) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.closed {
		return []Change{{Verdict: Refused, Reason: ErrClosed.Error(), Err: ErrClosed}}, false
	}
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

// isSettling reports whether a watched file need not be read now: it has not changed, or it is changing.
func (s *Set) isSettling(f file) bool {
	last, known := s.seen[f.path]
	if known && last.same(f.info, f.encoder) {
		return last.done
	}
	s.seen[f.path] = fileState{info: f.info, encoder: f.encoder}
	return true
}

// file is a policy file that was found.
type file struct {
	name, path string
	info       os.FileInfo
	encoder    string // identity of its encoder
	err        error  // why it cannot be read
}

// listing is what was found of the paths of a set.
type listing struct {
	files      []file
	refused    []Change // paths that cannot be read
	unreadable []string // the same paths
}

// list looks at all paths.
func (s *Set) list() *listing {
	l := &listing{}
	for _, path := range s.settings.Paths {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			l.folder(path)
		case errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, policyEnding) && !s.servesFrom(path):
			if s.served(path) == nil { // else it has gone: see missing
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

// removeDuplicates drops files that were found twice, such as by their name and in a folder, and refuses others of one name.
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

// same reports whether two files are one, however their paths are written.
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
			continue // removed since, or a link to nothing
		}
		if f.err == nil && f.info.IsDir() {
			continue
		}
		l.files = append(l.files, f)
	}
}

// addUnreadable notes a path that cannot be read.
func (l *listing) addUnreadable(path string, err error) {
	l.unreadable = append(l.unreadable, path)
	l.refused = append(l.refused, Change{File: path, Verdict: Refused, Reason: err.Error(), Err: err})
}

// nameOf is the name of the policy of a file.
func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), policyEnding) }

// served is the policy that was read from a path.
func (s *Set) served(path string) *Policy {
	for _, p := range *s.current.Load() {
		if p.File == path {
			return p
		}
	}
	return nil
}

// servesFrom reports whether policies of a folder are served.
func (s *Set) servesFrom(folder string) bool {
	for _, p := range *s.current.Load() {
		if filepath.Dir(p.File) == folder {
			return true
		}
	}
	return false
}

// load reads a file and serves it if it is new and right.
func (s *Set) load(ctx context.Context, f file) Change {
	old := (*s.current.Load())[f.name]
	c := Change{Name: f.name, File: f.path}
	if old != nil {
		c.Old, c.New = old.Digest, old.Digest
	}
	p, err := s.open(ctx, f, old)
	switch {
	case err != nil:
		c.Verdict, c.Reason, c.Err = Refused, err.Error(), err
	case p == nil:
		c.Verdict = Unchanged
	default:
		c.Verdict, c.New = Replaced, p.Digest
		if old == nil {
			c.Verdict = Added
		}
		s.swap(func(all map[string]*Policy) { all[f.name] = p })
		if old != nil {
			old.Release()
		}
	}
	if f.info != nil && !errors.Is(err, errChanging) && ctx.Err() == nil {
		s.seen[f.path] = fileState{info: f.info, encoder: f.encoder, done: true}
	}
	return c
}

// swap changes the policies that are served. Requests see all of the change or nothing.
func (s *Set) swap(change func(all map[string]*Policy)) {
	all := maps.Clone(*s.current.Load())
	change(all)
	s.current.Store(&all)
}

// missing are the policies whose files have gone.
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
