package patience

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pipe/internal/config"
	"pipe/internal/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLearner(t *testing.T, s *Settings) *Learner {
	t.Helper()
	l, err := New(s, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answer lets an expert answer a stream after a time.
func answer(e *Expert, n int, after time.Duration) {
	for range n {
		w := e.Begin(true, 10)
		time.Sleep(after)
		w.End(true)
	}
}

// A class of calls has the allowance of the start until enough answers are known, and then a multiple of their quantile
// between the floor and the most. Other classes do not count.
func TestAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := DefaultSettings()
		e := newLearner(t, &s).Expert("e", "")
		allowance := func(stream bool, tokens int) time.Duration {
			w := e.Begin(stream, tokens)
			defer w.End(false)
			return w.Allow(time.Second, func() {})
		}
		answer(e, 199, 40*time.Second)
		if got := allowance(true, 10); got != s.Start {
			t.Errorf("%v after 199 answers", got)
		}
		answer(e, 1, 40*time.Second)
		if got := allowance(true, 1024); !near(got, 120*time.Second, 0.1) || got < 120*time.Second {
			t.Errorf("%v after 200 answers of 40 s", got)
		}
		for _, c := range []struct {
			stream bool
			tokens int
		}{{false, 10}, {true, 1025}, {true, 1 << 30}} {
			if got := allowance(c.stream, c.tokens); got != s.Start {
				t.Errorf("%+v: %v", c, got)
			}
		}
		s.Most = 90 * time.Second
		e.learner.Set(&s)
		if got := allowance(true, 10); got != s.Most {
			t.Errorf("%v, the most is %v", got, s.Most)
		}
		s.Floor = s.Most
		s.Margin = 1
		e.learner.Set(&s)
		if got := allowance(true, 10); got != s.Floor {
			t.Errorf("%v, the floor is %v", got, s.Floor)
		}
		e.learner.Set(nil)
		if got := allowance(true, 10); got != time.Second {
			t.Errorf("%v without cuts, want the flat one", got)
		}
	})
}

// An outage does not make the allowance long for when the service works again. Cuts between answers do.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := DefaultSettings()
		e := newLearner(t, &s).Expert("e", "")
		answer(e, 2000, 30*time.Second)
		cut := func() time.Duration {
			w := e.Begin(true, 10)
			d := w.Allow(0, func() {})
			time.Sleep(d)
			w.End(false)
			return d
		}
		before := cut()
		for range 500 {
			cut()
		}
		if after := cut(); after != before {
			t.Errorf("%v before an outage, %v after it", before, after)
		}
		for range 200 {
			answer(e, 1, 30*time.Second)
			cut()
		}
		if after := cut(); after < 2*before {
			t.Errorf("%v before, %v after every second call was cut", before, after)
		}
	})
}

// Events end a silence, so what is learned of an expert with keep-alives is how long these take, beside how long its answers do.
func TestKeepAlives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := DefaultSettings()
		s.Floor = time.Second
		e := newLearner(t, &s).Expert("e", "")
		for range 200 {
			w := e.Begin(true, 10)
			for range 10 {
				time.Sleep(5 * time.Second)
				w.Alive()
			}
			w.End(true)
		}
		w := e.Begin(true, 10)
		if got := w.Allow(0, func() {}); !near(got, 15*time.Second, 0.1) {
			t.Errorf("the allowance is %v", got)
		}
		w.End(false)
		if got, ok := e.Quantile(true, 10, 0.5); !ok || !near(got, 50*time.Second, 0.1) {
			t.Errorf("the median is %v, %v", got, ok)
		}
	})
}

// What is not known is said not to be.
func TestUnknownTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLearner(t, nil)
		e := l.Expert("e", "a")
		answer(e, 19, time.Second)
		if _, known := e.Late(true, 10, 0); known {
			t.Error("after 19 answers")
		}
		answer(e, 1, time.Second)
		if late, known := e.Late(true, 10, 400*time.Millisecond); !known || !near(late, 600*time.Millisecond, 0.1) {
			t.Error(late, known)
		}
		if _, known := e.Quantile(true, 10, 0.5); known {
			t.Error("a percentile after 20 answers")
		}
		if e = l.Expert("e", "a"); e.cells[keyOf(true, 10)].begins.n != 20 {
			t.Error("the same expert")
		}
		if e = l.Expert("e", "b"); len(e.cells) != 0 {
			t.Error("another model has the times of the one before")
		}
	})
	var none *Learner
	w := none.Expert("e", "").Begin(true, 1)
	if w.Allow(time.Second, nil) != time.Second || w.End(true) || none.Close() != nil || none.States() != nil {
		t.Error("without a learner")
	}
	w.Alive()
}

// The file is written every minute and at the end, and only if something was learned.
func TestFile(t *testing.T) {
	s := DefaultSettings()
	s.File = config.Path(filepath.Join(t.TempDir(), "times.json"))
	there := func() bool { _, err := os.Stat(string(s.File)); return err == nil }
	var before []State
	synctest.Test(t, func(t *testing.T) {
		l := newLearner(t, &s)
		e := l.Expert("e", "a")
		time.Sleep(2 * time.Minute)
		if there() {
			t.Error("nothing was learned")
		}
		answer(e, 30, time.Second)
		time.Sleep(time.Minute)
		if !there() {
			t.Error("not after a minute")
		}
		answer(e, 30, 2*time.Second)
		w := e.Begin(false, 1<<20)
		w.End(false)
		before = l.States()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		again := newLearner(t, &s)
		again.Expert("e", "a")
		again.Expert("f", "a")
		if got := again.States(); len(got) != 2 || !reflect.DeepEqual(got, before) {
			t.Errorf("%+v\n%+v", got, before)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A file that no learner wrote is an error that names it.
func TestDamagedFiles(t *testing.T) {
	for _, text := range []string{
		"", "{", `{"format":2,"experts":{}}`, `{"format":1,"experts":{"e":{"identity":"","cells":[{"stream":true,"length":6,"begins":{"answers":1,"bins":[]},"silence":{"answers":1,"bins":[]}}]}}}`,
		cellText(`[-1,1,1]`), cellText(`[0.5,1,1]`), cellText(`[216,1,1]`), cellText(`[1,-1,1]`), cellText(`[1,1,1e300]`), cellText(`[1,"a",1]`),
		strings.Replace(cellText(`[1,1,1]`), `"answers":1`, `"answers":-1`, 1),
	} {
		s := DefaultSettings()
		s.File = config.Path(filepath.Join(t.TempDir(), "times.json"))
		if err := os.WriteFile(string(s.File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(&s, nil, nil); err == nil || !strings.Contains(err.Error(), string(s.File)) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func cellText(bin string) string {
	return `{"format":1,"experts":{"e":{"identity":"a","cells":[{"stream":true,"length":0,"begins":{"answers":1,"bins":[` + bin + `]},"silence":{"answers":1,"bins":[]}}]}}}`
}

// FuzzFile checks that what is read from a file can be used, and is written as it was read.
func FuzzFile(f *testing.F) {
	f.Add(cellText(`[3,1,0.5]`))
	f.Fuzz(func(t *testing.T, text string) {
		s := DefaultSettings()
		l := newLearner(t, &s)
		if l.parse([]byte(text)) != nil {
			return
		}
		e := l.Expert("e", "a")
		for _, c := range e.cells {
			c.allowance(l.rules.Load())
			c.begins.hazards()
			if c.begins.beyond(time.Second) < 0 || c.silence.quantile(0.5) < 0 {
				t.Error("a negative time")
			}
		}
	})
}

// The page's example is valid and has the defaults, and the page names every setting.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/patience.md")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Gateway struct {
			Experts  map[string]any `yaml:"experts"`
			Patience Settings       `yaml:"patience"`
			Latency  Latency        `yaml:"latency"`
			Hedge    Hedge          `yaml:"hedge"`
		} `yaml:"gateway"`
	}
	text := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)[1]
	if problems := config.Decode(text, storage.Location{}, func(string) (string, bool) { return "", false }, &all); len(problems) > 0 {
		t.Fatal(problems)
	}
	g := all.Gateway
	g.Patience.File = ""
	if g.Patience != DefaultSettings() || g.Hedge != DefaultHedge() {
		t.Errorf("%+v", g)
	}
	for _, v := range []interface{ Validate() error }{&g.Patience, &g.Latency, &g.Hedge} {
		if err := v.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, settings := range []any{Settings{}, Lateness{}, Latency{}, Hedge{}} {
		of := reflect.TypeOf(settings)
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ","); name != "" && !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(text), name+":") {
				t.Errorf("the page does not name %s of %v", name, of)
			}
		}
	}
}

// A service that answers one call after the other is no dead service, though many calls wait for long.
func TestQueueAtTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := DefaultSettings()
		e := newLearner(t, &s).Expert("e", "")
		answer(e, 300, time.Second)
		var waits []*Wait
		for range 50 {
			w := e.Begin(true, 10)
			w.Allow(0, func() { t.Error("it was cut") })
			waits = append(waits, w)
			time.Sleep(time.Millisecond)
		}
		for _, w := range waits {
			time.Sleep(time.Second)
			w.End(true)
		}
		for range 10 { // and then it dies
			e.Begin(true, 10).Allow(0, func() {})
		}
		time.Sleep(25 * time.Second)
		if e.mu.Lock(); e.silent != 0 || len(e.waiting) != 10 {
			t.Error(e.silent, len(e.waiting))
		}
		for w := range e.waiting {
			if !w.silenced {
				t.Error("a dead service was not left")
			}
		}
		e.mu.Unlock()
		for w := range e.waiting {
			w.End(false)
		}
	})
}
