// Package allowance divides an amount, such as money, among processes that share a folder or a bucket.
package allowance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"sync"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// Allowance divides an amount among workers: processes of one or several machines. Its folder has
//
//	slice.json        the amount of a slice, from the allowance of the first worker
//	slices/000017     slice 17 belongs to a worker, which may have spent it
//	rests/NAME.json   what a worker claimed and did not spend, in its end
//	rests/NAME.taken  that rest belongs to another worker
//
// Everything is claimed by writing an object that is not there yet, before the amount is spent. A killed worker's slices
// count as spent. So all workers together never spend more than the allowance. It is safe for concurrent use.
type Allowance struct {
	folder *storage.Folder
	slice  float64 // amount
	slices int     // in the allowance
	turn   sync.Mutex
	worker string // unique
	mine   int    // slices of this worker
	taken  int    // slices of all workers, when one was claimed last
}

// Slices is the usual number of slices of the allowance of the first worker.
const Slices = 256

// part is the content of slice.json and of a rest.
type part struct {
	Amount float64 `json:"money"`
	Worker string  `json:"worker"`
}

// Open opens the allowance of a folder, which need not exist. The first worker divides it into slices.
func Open(ctx context.Context, folder *storage.Folder, amount float64, slices int) (*Allowance, error) {
	l := &Allowance{folder: folder, worker: strings.ToLower(rand.Text())}
	m, err := l.read(ctx, "slice.json")
	if errors.Is(err, fs.ErrNotExist) {
		m = part{amount / float64(slices), l.worker}
		if err = l.write(ctx, "slice.json", m); errors.Is(err, fs.ErrExist) {
			m, err = l.read(ctx, "slice.json")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ledger of the budget: %w", err)
	}
	l.slice = m.Amount
	l.slices = int(min(math.Floor(amount/l.slice*(1+1e-12)), 1e6))
	return l, nil
}

// Slice is the amount of a slice.
func (l *Allowance) Slice() float64 { return l.slice }

// Known returns how many slices there are, how many of them workers had claimed when this one claimed last, and how many of
// these are its own.
func (l *Allowance) Known() (all, taken, mine int) {
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.slices, l.taken, l.mine
}

// Claim takes a slice or a rest, and returns its amount; 0: none is left.
func (l *Allowance) Claim(ctx context.Context) (float64, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	m, err := l.claimRest(ctx)
	if m == 0 && err == nil {
		m, err = l.claimSlice(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("ledger of the budget: %w", err)
	}
	return m, nil
}

// claimSlice takes a slice that no worker has claimed.
func (l *Allowance) claimSlice(ctx context.Context) (float64, error) {
	taken := make(map[int]bool)
	for info, err := range l.folder.List(ctx, "slices/") {
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(info.Name, "slices/")); err == nil {
			taken[n] = true
		}
	}
	l.taken = len(taken)
	for n := range l.slices {
		if taken[n] {
			continue
		}
		err := l.write(ctx, fmt.Sprintf("slices/%06d", n), part{l.slice, l.worker})
		l.taken++
		if !errors.Is(err, fs.ErrExist) {
			l.mine++
			return l.slice, err
		}
	}
	return 0, nil
}

// claimRest takes what another worker has given back.
func (l *Allowance) claimRest(ctx context.Context) (float64, error) {
	var rests []string
	for info, err := range l.folder.List(ctx, "rests/") {
		if err != nil {
			return 0, err
		}
		name, ok := strings.CutSuffix(info.Name, ".taken")
		if last := len(rests) - 1; ok && last >= 0 && rests[last] == name {
			rests = rests[:last] // the names are sorted
		} else if name, ok := strings.CutSuffix(info.Name, ".json"); ok {
			rests = append(rests, name)
		}
	}
	for _, name := range rests {
		m, err := l.read(ctx, name+".json")
		if err != nil {
			return 0, err
		}
		err = l.write(ctx, name+".taken", part{m.Amount, l.worker})
		if !errors.Is(err, fs.ErrExist) {
			return m.Amount, err
		}
	}
	return 0, nil
}

// GiveBack leaves an amount that was claimed and not spent to other workers.
func (l *Allowance) GiveBack(ctx context.Context, rest float64) error {
	if !(rest > 0) {
		return nil
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	err := l.write(ctx, "rests/"+l.worker+".json", part{rest, l.worker})
	if errors.Is(err, fs.ErrExist) {
		l.worker = strings.ToLower(rand.Text())
		err = l.write(ctx, "rests/"+l.worker+".json", part{rest, l.worker})
	}
	if err != nil {
		return fmt.Errorf("ledger of the budget: %w", err)
	}
	return nil
}

func (l *Allowance) write(ctx context.Context, name string, m part) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return l.folder.WriteFile(ctx, name, b, storage.WriteOptions{IfNotExist: true})
}

func (l *Allowance) read(ctx context.Context, name string) (m part, err error) {
	b, err := l.folder.ReadFile(ctx, name, storage.MaxClaim)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil || !(m.Amount > 0) || math.IsInf(m.Amount, 0) {
		return m, &dataerror.Error{File: l.folder.Location(name).String(), Msg: "this is not an amount", Err: err}
	}
	return m, nil
}
