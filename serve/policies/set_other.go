package policies

import (
	"context"
	"os"
	"sync"
)

// Other are files besides those of the policies that [Set.Watch] looks at, too.
type Other struct {
	Files func() []string                              // their paths at present
	Read  func(ctx context.Context, file string) error // reads a file that has changed and settled, and reports what is wrong with it
}

// others are all of these of a set.
type others struct {
	lock sync.Mutex
	list []Other
	seen map[string]fileState // the last known state of files, by path; used by Watch alone
}

// WatchOther has Watch look at other files, too. Each of them is read once when Watch begins, because it may have changed before.
func (s *Set) WatchOther(o Other) {
	s.others.lock.Lock()
	defer s.others.lock.Unlock()
	s.others.list = append(s.others.list, o)
}

// otherFiles are the other files with who reads them.
func (s *Set) otherFiles() map[string][]Other {
	s.others.lock.Lock()
	defer s.others.lock.Unlock()
	out := make(map[string][]Other)
	for _, o := range s.others.list {
		for _, file := range o.Files() {
			out[file] = append(out[file], o)
		}
	}
	return out
}

// readOthers reads other files that have changed and settled. again is true if one may still be changing.
func (s *Set) readOthers(ctx context.Context) (again bool) {
	files := s.otherFiles()
	next := make(map[string]fileState, len(files))
	for file, readers := range files {
		state, unsettled := s.readOther(ctx, file, readers, s.others.seen[file])
		next[file] = state
		again = again || unsettled
	}
	s.others.seen = next
	return again
}

func (s *Set) readOther(ctx context.Context, file string, readers []Other, last fileState) (_ fileState, again bool) {
	info, err := os.Stat(file)
	switch {
	case err != nil && last.done && last.info == nil, err == nil && last.done && last.same(info, ""):
		return last, false
	case err == nil && !last.same(info, ""):
		return fileState{info: info}, true
	}
	state := fileState{info: info, done: true} // of a missing file, whose reading says so
	for _, r := range readers {
		if err := r.Read(ctx, file); err != nil {
			s.log.WarnContext(ctx, "a file that changed was refused; what it said before stays in use", "file", file, "error", err.Error())
		}
	}
	if err == nil {
		if after, failed := os.Stat(file); failed != nil || !state.same(after, "") {
			return fileState{info: info}, true
		}
	}
	return state, false
}
