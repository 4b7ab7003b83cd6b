package chat

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

	"pipe/costs"
	"pipe/internal/storage"
)

// ledger divides a budget among workers. Its folder has
//
//	slice.json        the money of a slice, from the budget of the first worker
//	slices/000017     slice 17 belongs to a worker, which may have spent it
//	rests/NAME.json   money that a worker claimed and did not spend, in its end
//	rests/NAME.taken  that money belongs to another worker
//
// Everything is claimed by writing an object that is not there yet, before the money is spent. A killed worker's slices
// count as spent. So all workers together never spend more than the budget.
type ledger struct {
	folder *storage.Folder
	slice  float64 // money
	slices int     // in the budget
	worker string  // unique
	turn   sync.Mutex
}

// slicesOf is the number of slices of the budget of the first worker.
const slicesOf = 256

// money is the content of slice.json and of a rest.
type money struct {
	Money  float64 `json:"money"`
	Worker string  `json:"worker"`
}

func openLedger(ctx context.Context, folder *storage.Folder, budget float64) (*ledger, error) {
	l := &ledger{folder: folder, worker: strings.ToLower(rand.Text())}
	m, err := l.read(ctx, "slice.json")
	if errors.Is(err, fs.ErrNotExist) {
		m = money{budget / slicesOf, l.worker}
		if err = l.write(ctx, "slice.json", m); errors.Is(err, fs.ErrExist) {
			m, err = l.read(ctx, "slice.json")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ledger of the budget: %w", err)
	}
	l.slice = m.Money
	l.slices = int(min(math.Floor(budget/l.slice*(1+1e-12)), 1e6))
	return l, nil
}

// claim takes a slice or a rest, and returns its money; 0: none is left.
func (l *ledger) claim(ctx context.Context) (float64, error) {
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
func (l *ledger) claimSlice(ctx context.Context) (float64, error) {
	taken := make(map[int]bool)
	for info, err := range l.folder.List(ctx, "slices/") {
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(info.Name, "slices/")); err == nil {
			taken[n] = true
		}
	}
	for n := range l.slices {
		if taken[n] {
			continue
		}
		err := l.write(ctx, fmt.Sprintf("slices/%06d", n), money{l.slice, l.worker})
		if !errors.Is(err, fs.ErrExist) {
			return l.slice, err
		}
	}
	return 0, nil
}

// claimRest takes what another worker has given back.
func (l *ledger) claimRest(ctx context.Context) (float64, error) {
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
		err = l.write(ctx, name+".taken", money{m.Money, l.worker})
		if !errors.Is(err, fs.ErrExist) {
			return m.Money, err
		}
	}
	return 0, nil
}

// giveBack leaves money to other workers.
func (l *ledger) giveBack(ctx context.Context, rest float64) error {
	if !(rest > 0) {
		return nil
	}
	err := l.write(ctx, "rests/"+l.worker+".json", money{rest, l.worker})
	if errors.Is(err, fs.ErrExist) {
		l.worker = strings.ToLower(rand.Text())
		err = l.write(ctx, "rests/"+l.worker+".json", money{rest, l.worker})
	}
	if err != nil {
		return fmt.Errorf("ledger of the budget: %w", err)
	}
	return nil
}

func (l *ledger) write(ctx context.Context, name string, m money) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return l.folder.WriteFile(ctx, name, b, storage.WriteOptions{IfNotExist: true})
}

func (l *ledger) read(ctx context.Context, name string) (m money, err error) {
	b, err := l.folder.ReadFile(ctx, name, storage.MaxClaim)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil || !(m.Money > 0) || math.IsInf(m.Money, 0) {
		return m, &costs.DataError{File: l.folder.Location(name).String(), Msg: "this is not an amount of money", Err: err}
	}
	return m, nil
}
