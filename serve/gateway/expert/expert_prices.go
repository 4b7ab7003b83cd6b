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
// currency, so another one is an error.
func (e *Expert) SetPrices(list *prices.Table) error {
	if old := e.table.Load(); old != nil && old.Currency != list.Currency {
		return fmt.Errorf("the prices are in %s now, and were in %s; start the server again for another currency", list.Currency, old.Currency)
	}
	e.table.Store(list)
	return nil
}
