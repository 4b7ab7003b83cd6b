package session

import (
	"container/list"
	"sync"
	"time"
)

// entry is what is known of a conversation. It has no texts.
type entry struct {
	Key    Key    // under which it is stored
	ID     Key    // of the conversation
	Turn   int32  // number of the last turn, from 1
	N      int32  // marks in use
	Expert uint64 // that answered last; 0: none
	Bytes  int64  // of the last request
	Tokens int64  // of the prompt of the last request; 0: not known
	Used   int64  // nanoseconds since 1970 of the last request
	Marks  [maxMarks]mark
}

// maxMarks bounds the caches of one conversation that are remembered. The oldest goes first.
const maxMarks = 4

// mark is a prefix of a conversation in the cache of a service.
type mark struct {
	Cache  uint64  // the service and model
	Lead   uint64  // what stands before the conversation, such as advice; 0: nothing
	Chain  Key     // digest of the messages
	N      int64   // number of messages
	Tokens int64   // of the prefix
	At     int64   // nanoseconds since 1970 of the call
	Share  float64 // of what could be found in the cache, what was; -1: not known
}

// entryBytes is what an entry takes with its places in the list and the map, measured by TestMemory.
const entryBytes = 640

// find returns the mark of a cache, nil if there is none.
func (e *entry) find(cache uint64) *mark {
	for i := range e.Marks[:e.N] {
		if e.Marks[i].Cache == cache {
			return &e.Marks[i]
		}
	}
	return nil
}

// place returns the mark of a cache, in place of the oldest one if there is none and no room.
func (e *entry) place(cache uint64) *mark {
	if m := e.find(cache); m != nil {
		return m
	}
	at := 0
	if e.N < maxMarks {
		at = int(e.N)
		e.N++
	} else {
		for i := range e.Marks {
			if e.Marks[i].At < e.Marks[at].At {
				at = i
			}
		}
	}
	e.Marks[at] = mark{Cache: cache, Share: -1}
	return &e.Marks[at]
}

// store keeps entries in memory, up to a bound. The one that was used least recently goes first.
type store struct {
	most    int
	mu      sync.Mutex
	by      map[Key]*list.Element // of *entry
	order   *list.List            // the last used one first
	changed bool                  // since the file was written
	evicted int64
}

func newStore(s *Settings) *store {
	return &store{most: max(1, min(s.Sessions, s.Memory/entryBytes)), by: make(map[Key]*list.Element), order: list.New()}
}

// get returns a copy of the entry under the first of some keys that has one.
func (s *store) get(keys []Key) (e entry, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if at := s.by[k]; at != nil {
			s.order.MoveToFront(at)
			return *at.Value.(*entry), true
		}
	}
	return entry{}, false
}

// put stores an entry under its key. It takes the place of the one under another key, before, which may have none.
func (s *store) put(e entry, before Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
	if at := s.by[e.Key]; at != nil {
		*at.Value.(*entry) = e
		s.order.MoveToFront(at)
		if before != e.Key {
			s.drop(before)
		}
		return
	}
	if at := s.by[before]; at != nil {
		delete(s.by, before)
		*at.Value.(*entry) = e
		s.by[e.Key] = at
		s.order.MoveToFront(at)
		return
	}
	s.by[e.Key] = s.order.PushFront(&e)
	for s.order.Len() > s.most {
		s.drop(s.order.Back().Value.(*entry).Key)
		s.evicted++
	}
}

// drop forgets the entry of a key. The caller holds the lock.
func (s *store) drop(k Key) {
	if at := s.by[k]; at != nil {
		s.order.Remove(at)
		delete(s.by, k)
	}
}

// len is the number of entries, and how many were forgotten for want of room.
func (s *store) len() (n int, evicted int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.Len(), s.evicted
}

// entries returns copies of all entries, the one that was used least recently first, if something has changed since the last
// call.
func (s *store) entries() (all []entry, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.changed {
		return nil, false
	}
	s.changed = false
	all = make([]entry, 0, s.order.Len())
	for at := s.order.Back(); at != nil; at = at.Prev() {
		all = append(all, *at.Value.(*entry))
	}
	return all, true
}

// age is the time from a moment in nanoseconds since 1970 until now; 0 for a clock that was set back.
func age(now time.Time, at int64) time.Duration { return max(0, time.Duration(now.UnixNano()-at)) }
