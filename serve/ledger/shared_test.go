package ledger

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pipe/internal/storage"
)

// openShared opens a ledger of a folder as one of several processes.
func openShared(t *testing.T, folder string, s Settings, c *clock) *Ledger {
	t.Helper()
	f, err := storage.File(folder).Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open("test", s, Options{Shared: f, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Processes that share an allowance spend it together and never more, also if some of them are killed, in every period.
func TestShared(t *testing.T) {
	for _, per := range []Per{Minute, Day, Month} {
		c, folder, r := &clock{at: noon}, t.TempDir(), rand.New(rand.NewPCG(7, 7))
		s := Settings{Cost: 8, Per: per}
		var all []*Ledger
		for range 3 {
			all = append(all, openShared(t, folder, s, c))
		}
		for period := range 3 {
			sum := 0.0
			for i := range 6000 {
				l := all[r.IntN(len(all))]
				x := 0.004 * r.Float64()
				if k, ok := l.SpendNow(x); ok {
					x *= r.Float64() // less than was reserved
					k.Settle(x)
					sum += x
				}
				if i == 1000 && period == 1 { // a kill: nothing is given back
					close(all[0].stop)
					all[0].done.Wait()
					all[0] = openShared(t, folder, s, c)
				}
			}
			t.Logf("%s %d: %.3f of %v are spent", per, period, sum, s.Cost)
			if sum > s.Cost || sum < 0.7*s.Cost {
				t.Errorf("%s %d: %v of %v are spent", per, period, sum, s.Cost)
			}
			c.set(per.Until(c.now()))
		}
		for _, l := range all {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// What a process did not spend goes to the others when it stops. Old periods leave nothing behind.
func TestSharedRest(t *testing.T) {
	c, folder := &clock{at: noon}, t.TempDir()
	s := Settings{Cost: 1, Per: Day}
	a, b := openShared(t, folder, s, c), openShared(t, folder, s, c)
	if k, ok := a.SpendNow(0.9); !ok {
		t.Fatal("refused")
	} else {
		k.Settle(0.1)
	}
	if _, ok := b.SpendNow(0.5); ok {
		t.Error("more was spent than is left")
	}
	if left := b.Left(); left > 0.2 {
		t.Errorf("%v are left for the other", left)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	c.add(askAgain)
	if _, ok := b.SpendNow(0.5); !ok {
		t.Errorf("what was given back is not spent: %+v, %v left", b.State(), b.Left())
	}
	for range 2 {
		c.add(24 * time.Hour)
		if _, ok := b.SpendNow(0.25); !ok {
			t.Errorf("%+v", b.State())
		}
	}
	f, _ := storage.File(folder).Folder(t.Context())
	for info, err := range f.List(t.Context(), "") {
		if err != nil || info.Name < "2026-02-01" {
			t.Error(info.Name, err)
		}
	}
	if left := b.Left(); math.Abs(left-0.75) > 1e-9 {
		t.Errorf("one process alone has %v left", left)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestPeriods checks where periods begin and end.
func TestPeriods(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 30, 0, time.FixedZone("", 3600))
	for per, want := range map[Per][2]string{
		Minute: {"2026-12-31T22-59Z", "2026-12-31T23:00:00Z"}, Day: {"2026-12-31", "2027-01-01T00:00:00Z"}, Month: {"2026-12", "2027-01-01T00:00:00Z"},
	} {
		n := per.of(at)
		again, err := per.parse(per.text(n))
		if per.text(n) != want[0] || per.Until(at).Format(time.RFC3339) != want[1] || again != n || err != nil {
			t.Errorf("%s: %s, until %v, %d of %d, %v", per, per.text(n), per.Until(at), again, n, err)
		}
	}
	if err := (Settings{Cost: 1, Per: "week"}).Validate(); err == nil {
		t.Error("a week")
	}
}
