package chat

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"pipe/internal/storage"
)

// claims keeps workers from asking for the same answer at the same time. A worker claims a request before it sends it, and
// shows that it is alive; the others wait for its answer that long. The folder of answers has
//
//	asking/ab/DIGEST.1  a worker asks for this answer: written if it is not there, removed when the answer is kept
//	workers/NAME        a worker is alive: rewritten every quarter of the lease, removed at its end
//
// The claim of a worker that has given up or was lost is followed by one with the next number. Ages follow from the times
// of the storage, not by the clocks of workers.
type claims struct {
	folder *storage.Folder
	worker string // unique
	lease  time.Duration

	mu   sync.Mutex
	seen time.Time       // of the last sign of life of this worker; zero before the first
	lost map[string]bool // workers that are not alive
	stop func() error    // nil before the first sign of life
}

// asking is the content of a claim.
type asking struct {
	Worker string `json:"worker"` // "": it has given up
}

// mostLease is the longest silence after which a worker counts as lost: waiting for one that was killed costs more than
// asking again for what it had in flight.
const mostLease = 20 * time.Second

// newClaims returns the claims of a worker; a lease of 0 is the longest.
func newClaims(folder *storage.Folder, lease time.Duration) *claims {
	if lease <= 0 || lease > mostLease {
		lease = mostLease
	}
	return &claims{folder: folder, worker: strings.ToLower(rand.Text()), lease: lease, lost: make(map[string]bool)}
}

// take claims a request. It returns the name of the claim, or "" while another worker has it.
func (c *claims) take(ctx context.Context, request string) (name string, err error) {
	if err := c.begin(ctx); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("asking/%s.%d", nameOf(request), n)
		err := c.write(ctx, name, c.worker, storage.WriteOptions{IfNotExist: true})
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		b, err := c.folder.ReadFile(ctx, name, storage.MaxClaim)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil // the answer was kept in between
		}
		if err != nil {
			return "", err
		}
		var a asking
		_ = json.Unmarshal(b, &a) // a damaged claim counts as given up
		if a.Worker == c.worker {
			return name, nil // it could not be dropped
		}
		if alive, err := c.alive(ctx, a.Worker); alive || err != nil {
			return "", err
		}
	}
}

// drop ends a claim: its answer is kept, or another worker may ask. It works also where ctx has ended.
func (c *claims) drop(ctx context.Context, name string, kept bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if kept {
		return c.folder.Delete(ctx, name)
	}
	// It is not removed, because a claim with a higher number may be in force.
	return c.write(ctx, name, "", storage.WriteOptions{})
}

// alive reports whether a worker has given a sign of life within the time of the lease before the last one of this worker.
// Stores may cut times to seconds.
func (c *claims) alive(ctx context.Context, worker string) (bool, error) {
	c.mu.Lock()
	seen, lost := c.seen, c.lost[worker]
	c.mu.Unlock()
	if lost || worker == "" {
		return false, nil
	}
	info, err := c.folder.Stat(ctx, "workers/"+worker)
	if err == nil && seen.Sub(info.Modified).Abs() <= c.lease+time.Second { // a time far ahead: the clock of the storage was set back since
		return true, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	c.mu.Lock()
	c.lost[worker] = true
	c.mu.Unlock()
	return false, nil
}

// begin gives the first sign of life.
func (c *claims) begin(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return nil
	}
	seen, err := c.beat(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go c.keepBeating(ctx, ended)
	c.seen, c.stop = seen, func() error {
		cancel()
		<-ended
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return c.folder.Delete(last, "workers/"+c.worker)
	}
	return nil
}

// keepBeating gives signs of life until ctx ends. One that fails costs nothing but that others may ask for the same.
func (c *claims) keepBeating(ctx context.Context, ended chan struct{}) {
	defer close(ended)
	tick := time.NewTicker(c.lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if seen, err := c.beat(ctx); err == nil {
			c.mu.Lock()
			c.seen = seen
			c.mu.Unlock()
		}
	}
}

// beat gives a sign of life and returns its time by the clock of the storage.
func (c *claims) beat(ctx context.Context) (time.Time, error) {
	name := "workers/" + c.worker
	if err := c.folder.WriteFile(ctx, name, nil, storage.WriteOptions{}); err != nil {
		return time.Time{}, err
	}
	info, err := c.folder.Stat(ctx, name)
	return info.Modified, err
}

// end ends the signs of life: what this worker has claimed still is free for others.
func (c *claims) end() error {
	c.mu.Lock()
	stop := c.stop
	c.stop = nil
	c.mu.Unlock()
	if stop == nil {
		return nil
	}
	return stop()
}

func (c *claims) write(ctx context.Context, name, worker string, o storage.WriteOptions) error {
	b, err := json.Marshal(asking{worker})
	if err != nil {
		return err
	}
	return c.folder.WriteFile(ctx, name, b, o)
}
