package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/strictjson"
	"pipe/serve/ledger"
)

// exploring is what exploration depends on besides a decision: the ledger, and what was counted. It is safe for concurrent
// use.
type exploring struct {
	settings Explore
	log      *slog.Logger
	ledger   *ledger.Ledger // nil: none
	feed     bool           // outcomes can come, and exploration stops without them
	file     string         // of the counts; "": they are not kept
	byPolicy sync.Map       // name -> *atomic.Int64: decisions that could explore
	silent   atomic.Int64   // such decisions since the last outcome
	stop     chan struct{}
	done     sync.WaitGroup
	close    sync.Once
}

// The files in Explore.Folder.
const (
	ledgerFile = "explore-ledger.json"
	countsFile = "explore.json"
)

// ledgerEvery and countsEvery are how often the files are written, if something has changed.
const (
	ledgerEvery = time.Second
	countsEvery = 10 * time.Second
)

// newExploring opens the files. logged is whether decisions are logged, so that outcomes can come.
func newExploring(s Explore, logged bool, log *slog.Logger) (*exploring, error) {
	x := &exploring{settings: s, log: log, feed: logged && s.OutcomesWithin > 0, stop: make(chan struct{})}
	if s.off() {
		return x, nil
	}
	if s.Folder != "" && (s.SquareCB || x.feed) {
		x.file = filepath.Join(s.Folder, countsFile)
		if err := x.read(); err != nil {
			return nil, err
		}
	}
	if s.Ledger != nil {
		o := ledger.Options{Every: ledgerEvery, Log: log}
		if s.Folder != "" {
			o.File = filepath.Join(s.Folder, ledgerFile)
		}
		var err error
		if x.ledger, err = ledger.Open("exploration", s.Ledger.Settings, o); err != nil {
			return nil, err
		}
	}
	if x.file != "" {
		x.done.Go(x.keep)
	}
	x.announce()
	return x, nil
}

// announce says at the start what may be explored.
func (x *exploring) announce() {
	about := []any{"how", x.settings.String()}
	if x.ledger != nil {
		s := x.ledger.State()
		about = append(about, "day", s.Day, "spent", s.Spent, "allowance", s.Allowance)
	}
	if x.feed {
		about = append(about, "outcomes_within", x.settings.OutcomesWithin)
	}
	x.log.Info("exploration", about...)
	if x.isSilent(x.silent.Load()) {
		x.log.Warn(silentText, "decisions", x.silent.Load())
	}
}

const silentText = "nothing is explored until an outcome comes: none came for the last decisions"

// count counts a decision of a policy that could explore, and returns its number. ok is false if nothing may be explored
// because outcomes stopped coming.
func (x *exploring) count(policy string) (n int64, ok bool) {
	n = x.of(policy).Add(1)
	silent := x.silent.Add(1)
	if x.feed && silent == x.settings.OutcomesWithin+1 {
		x.log.Warn(silentText, "decisions", x.settings.OutcomesWithin)
	}
	return n, !x.isSilent(silent)
}

// of is the count of a policy.
func (x *exploring) of(policy string) *atomic.Int64 {
	if n, ok := x.byPolicy.Load(policy); ok {
		return n.(*atomic.Int64)
	}
	n, _ := x.byPolicy.LoadOrStore(policy, new(atomic.Int64))
	return n.(*atomic.Int64)
}

func (x *exploring) isSilent(decisions int64) bool {
	return x.feed && decisions > x.settings.OutcomesWithin
}

// outcome says that an outcome with a loss came.
func (x *exploring) outcome() {
	if x.isSilent(x.silent.Swap(0)) {
		x.log.Info("exploration goes on: an outcome came")
	}
}

// counted is the content of the file of the counts.
type counted struct {
	Format    int              `json:"format"`
	Decisions map[string]int64 `json:"decisions"` // by policy, that could explore
	Silent    int64            `json:"since_outcome"`
}

func (x *exploring) read() error {
	text, err := os.ReadFile(x.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("explore: %w", err)
	}
	var c counted
	bad := strictjson.Unmarshal(text, &c) != nil || c.Format != 1 || c.Silent < 0
	for policy, n := range c.Decisions {
		bad = bad || n < 0 || n > math.MaxInt64/2
		x.of(policy).Store(n)
	}
	if bad {
		return fmt.Errorf("explore: %q does not have the counts of pipe serve; remove it to count decisions anew", x.file)
	}
	x.silent.Store(c.Silent)
	return nil
}

// save writes the counts.
func (x *exploring) save() error {
	c := counted{Format: 1, Decisions: map[string]int64{}, Silent: x.silent.Load()}
	x.byPolicy.Range(func(policy, n any) bool {
		c.Decisions[policy.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(x.file, append(text, '\n'))
}

// keep saves the counts periodically. A kill loses those of the last seconds.
func (x *exploring) keep() {
	tick := time.NewTicker(countsEvery)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-x.stop:
			return
		case <-tick.C:
		}
		err := x.save()
		if err != nil && !failed {
			x.log.Error("the counts of exploration could not be saved", "error", err.Error())
		}
		failed = err != nil
	}
}

// end saves the counts and closes the ledger. It is idempotent.
func (x *exploring) end() (err error) {
	x.close.Do(func() {
		close(x.stop)
		x.done.Wait()
		if x.file != "" {
			err = x.save()
		}
		if x.ledger != nil {
			err = errors.Join(err, x.ledger.Close())
		}
	})
	return err
}
