package ledger

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

func (c *clock) add(d time.Duration) { c.set(c.now().Add(d)) }

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// open opens a ledger that reserves only when the test says so.
func open(t testing.TB, file string, cost float64, c *clock) *Ledger {
	t.Helper()
	l, err := Open("test", Settings{cost, Day}, Options{File: file, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// spend spends an amount, also where a part must be reserved for it first.
func (l *Ledger) spend(t testing.TB, amount float64) bool {
	t.Helper()
	if _, ok := l.Spend(amount); ok {
		return true
	}
	if err := l.Reserve(); err != nil {
		t.Fatal(err)
	}
	_, ok := l.Spend(amount)
	return ok
}

// TestDays spends the allowance of a day, and again on the next one.
func TestDays(t *testing.T) {
	c := &clock{at: noon}
	l := open(t, filepath.Join(t.TempDir(), "ledger.json"), 2, c)
	spent := func() (n int) {
		for l.spend(t, 0.25) {
			n++
		}
		return n
	}
	if n := spent(); n != 8 {
		t.Errorf("%d quarters of 2 were spent", n)
	}
	if s := l.State(); s.Day != "2026-01-31" || s.Spent != 2 || !s.Full || s.Refused == 0 || s.Failing {
		t.Errorf("%+v", s)
	}
	c.add(12 * time.Hour)
	if _, ok := l.Spend(0.001); ok {
		t.Error("an amount of a day that is not in the file was spent")
	}
	if n := spent(); n != 8 {
		t.Errorf("%d quarters of 2 were spent on the next day", n)
	}
	c.add(-30 * time.Hour)
	if n := spent(); n != 0 {
		t.Errorf("a clock that was set back gave %d more", n)
	}
	if s := l.State(); s.Day != "2026-02-01" {
		t.Errorf("%+v", s)
	}
	c.add(30*time.Hour + 24*time.Hour)
	if n := spent(); n != 8 {
		t.Errorf("%d after the clock went on", n)
	}
}

// TestRestart checks what a new process may spend on the same day: after a stop all that was not spent, after a kill all but the
// reserved part, and with a clock that was set back nothing more than that.
func TestRestart(t *testing.T) {
	c, file := &clock{at: noon}, filepath.Join(t.TempDir(), "ledger.json")
	l := open(t, file, 64, c) // parts of 1
	for range 10 {
		if !l.spend(t, 0.5) {
			t.Fatal("refused")
		}
	}
	killed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.Spend(0.1); ok {
		t.Error("a closed ledger spends")
	}
	if s := open(t, file, 64, c).State(); s.Spent != 5 {
		t.Errorf("after a stop: %+v", s)
	}
	if err := os.WriteFile(file, killed, 0o600); err != nil {
		t.Fatal(err)
	}
	c.add(-48 * time.Hour)
	if s := open(t, file, 64, c).State(); s.Spent < 5 || s.Spent > 6.5 || s.Day != "2026-01-31" {
		t.Errorf("after a kill: %+v", s)
	}
}

// TestBadFile checks that a file that cannot be read is an error that names it, and gives no allowance.
func TestBadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.json")
	for _, text := range []string{"", "{}", `{"format":1,"day":"2026-01-31","reserved":-1}`, `{"format":2,"day":"2026-01-31","reserved":1}`, `{"format":1,"day":"yesterday","reserved":1}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open("test", Settings{1, Day}, Options{File: file}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, s := range []Settings{{0, Day}, {-1, Day}, {math.NaN(), Day}, {math.Inf(1), Day}, {1, "week"}, {1, ""}} {
		if _, err := Open("test", s, Options{}); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

// TestFullDisk checks that nothing is spent that the file does not have, and that spending goes on when it can be written.
func TestFullDisk(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	c := &clock{at: noon}
	l := open(t, filepath.Join(folder, "ledger.json"), 64, c)
	if err := os.Rename(folder, folder+"2"); err != nil {
		t.Fatal(err)
	}
	n := 0
	for range 20 {
		if _, ok := l.Spend(0.25); ok {
			n++
		}
		if err := l.Reserve(); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
	if s := l.State(); n != 4 || s.Spent != 1 || !s.Failing {
		t.Errorf("%d were spent: %+v", n, s)
	}
	if err := os.Rename(folder+"2", folder); err != nil {
		t.Fatal(err)
	}
	if !l.spend(t, 0.25) || l.State().Failing {
		t.Errorf("it does not go on: %+v", l.State())
	}
}

// TestSettle replaces amounts by what they were.
func TestSettle(t *testing.T) {
	c := &clock{at: noon}
	l := open(t, "", 4, c)
	charge := func(x float64) Charge {
		k, ok := l.Spend(x)
		if !ok {
			if err := l.Reserve(); err != nil {
				t.Fatal(err)
			}
			if k, ok = l.Spend(x); !ok {
				t.Fatal("refused")
			}
		}
		return k
	}
	charge(2).Settle(0.5)
	if s := l.State(); s.Spent != 0.5 {
		t.Errorf("less: %+v", s)
	}
	k := charge(1)
	c.add(24 * time.Hour)
	if err := l.Reserve(); err != nil {
		t.Fatal(err)
	}
	if k.Settle(0.25); l.State().Spent != 0 {
		t.Errorf("what is given back on a later day: %+v", l.State())
	}
	charge(1).Settle(5)
	if l.State().Spent != 5 || l.spend(t, 0.01) {
		t.Errorf("more than the allowance: %+v", l.State())
	}
}

// TestConcurrent spends from many goroutines, while parts are reserved in the background.
func TestConcurrent(t *testing.T) {
	c := &clock{at: noon}
	l := open(t, filepath.Join(t.TempDir(), "ledger.json"), 1, c)
	var mu sync.Mutex
	var all sync.WaitGroup
	sum := 0.0
	for g := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 4000 {
				x := r.Float64() * 0.001
				if _, ok, _ := l.SpendBeside(x, x/2); ok {
					mu.Lock()
					sum += x
					mu.Unlock()
				} else {
					time.Sleep(10 * time.Microsecond)
				}
			}
		})
	}
	all.Wait()
	if sum > 1+1e-9 || sum < 0.1 || math.Abs(sum-l.State().Spent) > 1e-9 {
		t.Errorf("%v were spent of 1; it says %+v", sum, l.State())
	}
}

// TestMonths is the law of the ledger: in 1,000 months of random traffic, with kills, stops, clocks that jump and failing writes,
// what a day spends is never above its allowance.
func TestMonths(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const months, allowance = 1000, 5.0
	file := filepath.Join(t.TempDir(), "ledger.json")
	used, unused := 0.0, 0
	for month := range months {
		r := rand.New(rand.NewPCG(uint64(month), 3))
		c := &clock{at: time.Date(2026, time.Month(1+month), 1, 0, 0, 0, 0, time.UTC)}
		disk := "" // the content of the file
		spent := map[string]float64{}
		fails := false
		start := func() *Ledger {
			l := &Ledger{allowance: allowance, now: c.now, log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1), per: Day, period: Day.of(c.now()), file: file}
			l.save = func(_ string, b []byte) error {
				if fails {
					return errors.New("no room")
				}
				disk = string(b)
				return nil
			}
			if disk != "" {
				if err := l.parse([]byte(disk)); err != nil {
					t.Fatal(err)
				}
			}
			_ = l.Reserve() // it may fail
			return l
		}
		l := start()
		size := allowance * math.Pow(10, -3*r.Float64())
		for end := c.now().AddDate(0, 1, 0); c.now().Before(end); {
			c.add(time.Duration(r.ExpFloat64() * float64(30*time.Minute)))
			x := size * r.ExpFloat64()
			if _, ok, _ := l.SpendBeside(x, x); ok {
				spent[l.State().Day] += x
			}
			switch r.IntN(400) {
			case 0: // kill
				l = start()
			case 1: // stop
				day, sum := l.period, l.spent
				if err := l.write(day, sum); err == nil {
					l = start()
				}
			case 2:
				c.add(-time.Duration(r.Int64N(int64(50 * time.Hour))))
			case 3:
				c.add(time.Duration(r.Int64N(int64(30 * time.Hour))))
			case 4:
				fails = !fails
			}
			if len(l.wake) > 0 || r.IntN(10) == 0 {
				select {
				case <-l.wake:
				default:
				}
				_ = l.Reserve()
			}
		}
		for day, sum := range spent {
			used += sum / float64(months)
			if sum > allowance*(1+1e-9) {
				t.Fatalf("month %d: %v of %v were spent on %s", month, sum, allowance, day)
			}
		}
		if len(spent) == 0 {
			unused++
		}
	}
	t.Logf("%.1f spent in a mean month of at most %.0f", used, 31*allowance)
	if used < 10*allowance || unused > 0 {
		t.Errorf("the law says little: %v in a month, %d months without spending", used, unused)
	}
}

func ExampleLedger() {
	l, err := Open("exploration", Settings{Cost: 5, Per: Day}, Options{Now: func() time.Time { return noon }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	_, ok := l.Spend(0.05)
	fmt.Println(ok, l.State().Spent, "of", l.State().Allowance)
	// Output: true 0.05 of 5
}

// TestDayInTheFuture checks that a ledger says that its day is later than today, and gives what is left of that day only.
func TestDayInTheFuture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.json")
	if err := os.WriteFile(file, []byte(`{"format":1,"day":"2099-01-01","reserved":1.5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	c := &clock{at: noon}
	l, err := Open("l", Settings{Cost: 2, Per: Day}, Options{File: file, Now: c.now, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "day is later than today") || l.State().Day != "2099-01-01" {
		t.Errorf("%q, %+v", said.String(), l.State())
	}
	if _, ok := l.SpendNow(0.75); ok {
		t.Error("more was spent than is left of the day")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
