package decisionlog

import (
	"testing"
	"time"
)

// Conversion waits while many records come. The wait is bounded by time and by the number of segments that wait.
func TestPace(t *testing.T) {
	const step = 500 * time.Millisecond
	now := time.Unix(1000, 0)
	var p pace
	records := int64(0)
	call := func(added int64, segments int) bool {
		now, records = now.Add(step), records+added
		return p.waits(now, records, segments)
	}
	if call(100_000, 3) {
		t.Error("the leftovers of another run wait")
	}
	if call(busyRate/4, 3) {
		t.Error("waits while few records come")
	}
	if !call(busyRate, 1) || !call(busyRate, waitingSegments-1) {
		t.Error("does not wait while many records come")
	}
	if call(busyRate, waitingSegments) {
		t.Error("more segments wait than may")
	}
	n := 0
	for n < 1000 && call(busyRate, 1) {
		n++
	}
	if want := int(longestWait / step); n != want {
		t.Errorf("waited %d steps, want %d", n, want)
	}
	if !call(busyRate, 1) {
		t.Error("the next segment does not wait")
	}
	if call(0, 1) || call(busyRate, 0) {
		t.Error("waits while nothing comes, or for nothing")
	}
}

// Under a high rate the backlog stays bounded, and everything is read back meanwhile and after.
func TestBacklog(t *testing.T) {
	folder := t.TempDir()
	s := quick()
	s.SegmentBytes = 100_000
	w, err := Open(folder, s)
	if err != nil {
		t.Fatal(err)
	}
	r, p := benchRecord()
	if err := w.Policy(*p); err != nil {
		t.Fatal(err)
	}
	n, most, converted := 0, 0, false
	for start := time.Now(); time.Since(start) < time.Second; n++ {
		c := *r
		c.ID = NewID()
		if err := w.Add(&c); err != nil {
			t.Fatal(err)
		}
		if n%10 == 0 {
			time.Sleep(2 * time.Millisecond)
			st := w.Stats()
			most = max(most, st.Unfinished)
			converted = converted || st.Segments > st.Unfinished+1
		}
	}
	for w.Stats().Queued > 0 {
		time.Sleep(time.Millisecond)
	}
	list, _ := readAll(t, folder)
	if len(list) != n {
		t.Errorf("%d of %d records are read while segments wait", len(list), n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if list, _ = readAll(t, folder); len(list) != n {
		t.Errorf("%d of %d records are read at the end", len(list), n)
	}
	t.Logf("%d records, at most %d segments waited", n, most)
	if !converted {
		t.Error("nothing was converted")
	}
}
