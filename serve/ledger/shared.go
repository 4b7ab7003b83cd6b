package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pipe/internal/allowance"
	"pipe/internal/storage"
)

// shared is the allowance of a period that several processes divide: each claims slices of it in a folder before it spends them.
type shared struct {
	folder *storage.Folder
	slices int
	of     *allowance.Allowance // of the present period; nil: it was not opened yet
}

// slicesOf is the number of slices of a period.
func slicesOf(p Per) int {
	if p == Minute { // each claim costs a few calls of a store
		return 32
	}
	return allowance.Slices
}

// claimTime bounds how long the folder may take to give a slice.
const claimTime = 20 * time.Second

// claim claims slices until the part of this process is at least wanted. all says that none are left.
func (s *shared) claim(period string, fresh bool, amount, have, wanted float64) (now float64, all bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), claimTime)
	defer cancel()
	if fresh || s.of == nil {
		if fresh {
			have = 0
		}
		if s.of, err = allowance.Open(ctx, s.folder.Sub(period), amount, s.slices); err != nil {
			return have, false, err
		}
	}
	for have < wanted {
		more, err := s.of.Claim(ctx)
		if err != nil {
			return have, false, err
		}
		if more == 0 {
			return have, true, nil
		}
		have += more
	}
	return have, false, nil
}

// sweep removes what periods before one have left.
func (s *shared) sweep(before string) error {
	ctx, cancel := context.WithTimeout(context.Background(), claimTime)
	defer cancel()
	for info, err := range s.folder.List(ctx, "") {
		if err != nil {
			return err
		}
		if period, _, ok := strings.Cut(info.Name, "/"); !ok || period >= before {
			continue
		}
		if err := s.folder.Delete(ctx, info.Name); err != nil {
			return err
		}
	}
	return nil
}

// giveBack leaves what was claimed and not spent to the others.
func (s *shared) giveBack(rest float64) error {
	if s.of == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimTime)
	defer cancel()
	if err := s.of.GiveBack(ctx, rest); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}
