package textfile

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNames: names are numbered as with a map, and read back unchanged.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []string
		index := make(map[string]int)
		n := NewNames(NewMemoryBudget(MaxHeld))
		if rapid.Bool().Draw(t, "index") {
			n = NewIndex(rapid.IntRange(0, 20).Draw(t, "room"))
		}
		for _, s := range rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringMatching(`[ab]{0,3}`), rapid.Just(strings.Repeat("x", 5000)))).Draw(t, "names") {
			want, known := index[s]
			if got := n.Find(s); known != (got >= 0) || known && got != want {
				t.Fatalf("%q is found at %d, want %d, %v", s, got, want, known)
			}
			if !known {
				want = len(list)
				index[s], list = want, append(list, s)
			}
			if got, err := n.Add(s); got != want || err != nil {
				t.Fatalf("%q is %d, want %d, %v", s, got, want, err)
			}
		}
		asked := append(rapid.SliceOf(rapid.StringMatching(`[ab]{0,3}`)).Draw(t, "asked"), list...)
		numbers := make([]int32, len(asked))
		n.FindAll(numbers, func(i int) string { return asked[i] })
		for i, s := range asked {
			if want := n.Find(s); int(numbers[i]) != want {
				t.Fatalf("%q is found at %d, want %d", s, numbers[i], want)
			}
		}
		if n.Len() != len(list) || fmt.Sprintf("%q", n.List()) != fmt.Sprintf("%q", list) {
			t.Fatalf("got %q, want %q", n.List(), list)
		}
	})
}

// TestHeldIsWhatIsTaken: the count is at most the heap in use, and at least half of it.
func TestHeldIsWhatIsTaken(t *testing.T) {
	measure := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := measure()
	held := NewMemoryBudget(MaxHeld)
	n := NewNames(held)
	for i := range 300_000 {
		if _, err := n.Add(fmt.Sprint("row-", i)); err != nil {
			t.Fatal(err)
		}
	}
	taken, counted := int64(measure()-before), held.bytes.Load()
	runtime.KeepAlive(n)
	t.Logf("%.1f MB are counted, %.1f taken", float64(counted)/1e6, float64(taken)/1e6)
	if counted > taken*5/4 || counted < taken/2 {
		t.Errorf("%d bytes are counted, %d taken", counted, taken)
	}
}

func TestHeldEnds(t *testing.T) {
	held := NewMemoryBudget(1000)
	n := NewNames(held)
	var err error
	for i := 0; err == nil; i++ {
		_, err = n.Add(fmt.Sprint(i))
	}
	var fault *Fault
	if !errors.As(err, &fault) || n.Len() < 20 || n.Len() > 40 {
		t.Errorf("after %d names: %v", n.Len(), err)
	}
	for _, c := range [][3]int{{1 << 31, 1 << 31, 4}, {1 << 62, 4, 1}, {1, 1001, 1}, {0, 0, -1}} {
		if err := NewMemoryBudget(1000).AddCells(c[0], c[1], c[2]); (err == nil) != (c[0] == 0) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if err := NewMemoryBudget(MaxHeld).AddCells(100_000_000, 10, 4); err != nil {
		t.Error(err)
	}
	if err := (*MemoryBudget)(nil).Add(1 << 60); err != nil {
		t.Error(err)
	}
}

func TestRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.StringMatching(`[a-e]{0,4}`)).Draw(t, "list")
		for i := range rapid.IntRange(0, 300).Draw(t, "more") {
			list = append(list, fmt.Sprint(i))
		}
		if len(list) > 0 && rapid.Bool().Draw(t, "again") {
			list = append(list, rapid.SampledFrom(list).Draw(t, "repeated"))
		}
		again, first := Repeated(list)
		seen := make(map[string]int)
		for n, s := range list {
			at, ok := seen[s]
			if ok {
				if again != n || first != at {
					t.Fatalf("%d repeats %d, want %d and %d", again, first, n, at)
				}
				return
			}
			seen[s] = n
		}
		if again >= 0 || first >= 0 {
			t.Fatalf("%d repeats %d", again, first)
		}
	})
}

// TestNamesWithOneHash: names whose hashes have the same upper half are told apart.
func TestNamesWithOneHash(t *testing.T) {
	n := NewIndex(3)
	for i, name := range []string{"a", "b", "c"} {
		n.slots[(slot(7).start(len(n.slots))+i)&(len(n.slots)-1)] = newSlot(7, i)
		n.list = append(n.list, name)
	}
	for i, name := range []string{"a", "b", "c", "d"} {
		want := i
		if i == 3 {
			want = -1
		}
		if _, got := n.slot(7, name); got != want {
			t.Errorf("%s is found at %d, want %d", name, got, want)
		}
	}
	if n.grow(); n.slots[0].number() != 0 || n.slots[1].number() != 1 {
		t.Errorf("slots are %v", n.slots)
	}
}
