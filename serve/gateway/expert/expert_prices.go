package expert

import (
	"context"
	"fmt"

	"pipe/costs/prices"
	"pipe/internal/config"
)

// ReadPrices reads a price file.
func ReadPrices(ctx context.Context, file config.Path) (*prices.Table, error) {
	return prices.Read(ctx, file.Location())
}

// SetPrices replaces the prices of an expert that has a price file, for calls that end from now on. Sums of money have one
// currency, so another one is an error. back takes the prices back that were there before.
func (e *Expert) SetPrices(list *prices.Table) (back func(), err error) {
	old := e.table.Load()
	if old != nil && old.Currency != list.Currency {
		return nil, fmt.Errorf("the prices are in %s now, and were in %s; start the server again for another currency", list.Currency, old.Currency)
	}
	e.table.Store(list)
	return func() { e.table.Store(old) }, nil
}

// Capabilities are what the model can take: by the settings, and else by the price file.
func (e *Expert) Capabilities() prices.Capabilities {
	if table := e.table.Load(); table != nil {
		return e.cfg.Capabilities.Over(table.Capabilities[e.cfg.Model])
	}
	return e.cfg.Capabilities
}

// LimitsKnown reports whether something is known of the capabilities.
func (e *Expert) LimitsKnown() bool { return e.Capabilities() != prices.Capabilities{} }
