package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"pipe/internal/config"
	"pipe/serve/gateway/expert"
)

// PriceFiles are the paths of the price files of the experts, sorted. Files in object stores are not among them: only a reload reads
// these again.
func (a *API) PriceFiles() (files []string) {
	b := a.acquire()
	defer a.release(b)
	for _, e := range b.settings.Experts {
		if file := string(e.Prices); file != "" && !strings.Contains(file, "://") {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// ReadPrices reads a price file again, for all experts that have it. A file that cannot be read, or has another currency, changes
// nothing. Running requests may be charged at the new prices.
func (a *API) ReadPrices(ctx context.Context, file string) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	b := a.acquire()
	defer a.release(b)
	err := b.readPrices(ctx, config.Path(file))
	a.metrics.ExpertPrices(err == nil)
	if err == nil {
		a.log.LogAttrs(ctx, slog.LevelInfo, "the price file of experts was read", slog.String("file", file))
	}
	return err
}

func (b *backends) readPrices(ctx context.Context, file config.Path) error {
	list, err := expert.ReadPrices(ctx, file)
	if err != nil {
		return err
	}
	var before []func()
	for name, e := range b.experts {
		if b.settings.Experts[name].Prices != file {
			continue
		}
		back, err := e.SetPrices(list)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err) // the first one: all have the same file
		}
		before = append(before, back)
	}
	if err := b.checkBudgets(); err != nil {
		for _, back := range before {
			back()
		}
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
