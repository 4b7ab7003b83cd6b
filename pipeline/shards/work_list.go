package shards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"text/tabwriter"
	"time"

	"pipe/internal/hint"
	"pipe/internal/safetext"
	"pipe/internal/storage"
)

// The states of a shard.
const (
	stateOpen    = "open"    // no worker makes it
	stateRunning = "running" // claimed
	stateFailed  = "failed"  // no worker makes it, and the last attempt failed
	StateDone    = "done"
)

// State is the state of a shard.
type State struct {
	Shard   int    `json:"shard"`
	State   string `json:"state"`
	Attempt int    `json:"attempt,omitempty"` // the last one
	Failed  int    `json:"failed,omitempty"`  // attempts that failed
	Worker  string `json:"worker,omitempty"`  // of a running shard
	Silent  int    `json:"silent,omitempty"`  // seconds since the last sign of life of a running shard
	Error   string `json:"error,omitempty"`   // of a failed shard
}

// Listing is the state of all shards: a list of work that a scheduler can run.
type Listing struct {
	Work   string  `json:"work"`
	Stage  string  `json:"stage"`
	Rows   int64   `json:"rows,omitempty"`
	Shards []State `json:"shards"`
}

// slot is what the names in a work folder say about a shard.
type slot struct {
	done     bool
	claim    int // highest attempt that is claimed; 0: none, or it failed
	attempts int // highest attempt, claimed or failed
	failed   int // failed attempts
	alive    time.Time
}

// scan reads the names, a thousand with a request.
func (w *Work) scan(ctx context.Context) ([]slot, error) {
	return scan(ctx, w.folder, w.manifest.Shards)
}

func scan(ctx context.Context, folder *storage.Folder, shards int) ([]slot, error) {
	slots := make([]slot, shards)
	for info, err := range folder.List(ctx, claimsName) {
		if err != nil {
			return nil, err
		}
		if shard, n, ok := attemptOf(info.Name, claimsName, ""); ok && shard < shards && n > slots[shard].claim {
			s := &slots[shard]
			s.claim, s.attempts, s.alive = n, max(n, s.attempts), info.Modified
		}
	}
	for info, err := range folder.List(ctx, failedName) {
		if err != nil {
			return nil, err
		}
		if shard, n, ok := attemptOf(info.Name, failedName, ".json"); ok && shard < shards {
			s := &slots[shard]
			s.failed, s.attempts = s.failed+1, max(n, s.attempts)
			if s.claim == n {
				s.claim = 0
			}
		}
	}
	// What is done is read last: a shard that is finished in between is seen as done, not as open.
	for info, err := range folder.List(ctx, doneName) {
		if err != nil {
			return nil, err
		}
		if shard, end, ok := shardOf(info.Name, doneName); ok && shard < shards && end == ".json" {
			slots[shard].done = true
		}
	}
	return slots, nil
}

// List returns the state of every shard of a work folder.
func List(ctx context.Context, work storage.Location) (*Listing, error) {
	folder, err := work.Folder(ctx)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(ctx, folder)
	if err != nil {
		return nil, orNoWork(folder, err)
	}
	w := &Work{manifest: m, folder: folder, machine: thisMachine()}
	slots, err := w.scan(ctx)
	if err != nil {
		return nil, err
	}
	now, err := now(ctx, w.folder, w.machine.Worker)
	if err != nil {
		now = time.Now() // the user who lists it may not be allowed to write
	}
	l := &Listing{Work: folder.String(), Stage: m.Stage, Rows: m.Rows}
	for shard, s := range slots {
		state, err := w.state(ctx, shard, s, now)
		if err != nil {
			return nil, err
		}
		l.Shards = append(l.Shards, state)
	}
	return l, nil
}

// ErrNoWork is the error of a folder in which no worker has begun.
var ErrNoWork = errors.New("no worker has begun")

// orNoWork is ErrNoWork where the manifest is not there, else the error.
func orNoWork(folder *storage.Folder, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return hint.With(fmt.Errorf("work folder %q: it has no manifest.json: %w", folder.String(), ErrNoWork), "start workers with --shards N --shard next, or check --work and --out")
	}
	return err
}

func (w *Work) state(ctx context.Context, shard int, s slot, now time.Time) (State, error) {
	state := State{Shard: shard, State: stateOpen, Attempt: s.attempts, Failed: s.failed}
	switch {
	case s.done:
		state.State = StateDone
	case s.claim > 0:
		state.State, state.Silent = stateRunning, int(max(0, now.Sub(s.alive)).Seconds())
		var c claim
		err := w.read(ctx, claimOf(shard, s.claim), &c)
		state.Worker = c.Worker
		return state, err
	case s.failed > 0:
		state.State = stateFailed
		var f failure
		err := w.read(ctx, failedOf(shard, s.attempts), &f)
		state.Error = f.Error
		return state, err
	}
	return state, nil
}

// read reads a small object; one that is gone or damaged leaves v as it is.
func (w *Work) read(ctx context.Context, name string, v any) error {
	b, err := w.folder.ReadFile(ctx, name, storage.MaxClaim)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_ = json.Unmarshal(b, v)
	}
	return err
}

// Count returns the number of shards in a state.
func (l *Listing) Count(state string) (n int) {
	for _, s := range l.Shards {
		if s.State == state {
			n++
		}
	}
	return n
}

// WriteText writes the states for a reader at a terminal.
func (l *Listing) WriteText(out io.Writer) error {
	fmt.Fprintf(out, "%s: %s\n%d shards: %d done, %d running, %d failed, %d open\n",
		safetext.Line(l.Stage), safetext.Line(l.Work), len(l.Shards), l.Count(StateDone), l.Count(stateRunning), l.Count(stateFailed), l.Count(stateOpen))
	byState := map[string][]int{}
	for _, s := range l.Shards {
		byState[s.State] = append(byState[s.State], s.Shard)
	}
	for _, state := range []string{stateOpen, stateFailed} {
		if list := byState[state]; len(list) > 0 {
			fmt.Fprintf(out, "%s: %s\n", state, Ranges(list))
		}
	}
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range l.Shards {
		switch s.State {
		case stateRunning:
			fmt.Fprintf(tab, "%d\trunning, attempt %d, last sign of life %d s ago\t%s\n", s.Shard, s.Attempt, s.Silent, safetext.Line(s.Worker))
		case stateFailed:
			fmt.Fprintf(tab, "%d\tfailed %d times\t%s\n", s.Shard, s.Failed, safetext.Line(s.Error))
		}
	}
	return tab.Flush()
}
