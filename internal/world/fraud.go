package world

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// The generated worlds. In the planted one every cell of the base view has its own best expert and disclosure. In the
// flat one the label is independent of every column, so the cheapest expert without advice is best.
const (
	FraudPlanted = "planted"
	fraudFlat    = "flat"
)

// FraudWorlds lists the worlds by name.
func FraudWorlds() []string { return []string{FraudPlanted, fraudFlat} }

// The size of the competition's data.
const (
	fraudFullRows       = 590_540
	fraudFullIdentities = 144_233
	fraudMostRows       = 100_000_000
)

// FraudOptions are the options of GenerateFraud.
type FraudOptions struct {
	Rows      int              // transactions, at least 1
	World     string           // FraudPlanted or FraudFlat
	Seed      uint64           // other seeds give other rows of the same world
	Columns   int              // of the transaction file: 394, or 55 for the file without the V columns
	FraudRate float64          // share of frauds in every cell, between 0 and 1; the law is stated for 0.5
	Out       storage.Location // folder for the two files
	Workers   int              // goroutines; the bytes do not depend on it
}

// DefaultFraudOptions is a planted world of the competition's size, balanced, on all cores.
func DefaultFraudOptions() FraudOptions {
	return FraudOptions{
		Rows: fraudFullRows, World: FraudPlanted, Columns: fraudAllColumns, FraudRate: FraudRate,
		Workers: runtime.GOMAXPROCS(0),
	}
}

// Validate returns every problem of the options.
func (o *FraudOptions) Validate() error {
	var problems []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	wrong(o.Rows < 1 || o.Rows > fraudMostRows, "rows %d: 1 to %d", o.Rows, fraudMostRows)
	wrong(!slices.Contains(FraudWorlds(), o.World), "world %q: known are %s", o.World, strings.Join(FraudWorlds(), ", "))
	wrong(o.Columns != fraudAllColumns && o.Columns != fraudFewColumns,
		"columns %d: %d, or %d without the V columns", o.Columns, fraudAllColumns, fraudFewColumns)
	wrong(!(o.FraudRate > 0 && o.FraudRate < 1), "fraud rate %v: between 0 and 1", o.FraudRate)
	wrong(o.Out.IsZero(), "no folder for the files")
	wrong(o.Workers < 1, "workers %d: at least 1", o.Workers)
	return errors.Join(problems...)
}

// GenerateFraud writes train_transaction.csv and train_identity.csv into o.Out: synthetic values with the competition's
// header, types, spellings and gaps, and a known distribution (see FraudLaw and docs/generate.md). The same options
// give the same bytes on any number of cores. Each file appears whole or not at all; invalid options are an
// *stage.OptionError.
func GenerateFraud(ctx context.Context, o FraudOptions, p stage.Progress) (*FraudReport, error) {
	p = stage.OrQuiet(p)
	if err := o.Validate(); err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("generate fraud: %w", err)}
	}
	defer p.Done()
	report, err := stage.Alone(o.Out, func() (*FraudReport, error) { return writeFraud(ctx, o, p) })
	if err != nil {
		return nil, fmt.Errorf("generate fraud: %w", err)
	}
	return report, nil
}

// The names of the competition's training files.
const (
	fraudTransactionFile = "train_transaction.csv"
	fraudIdentityFile    = "train_identity.csv"
)

// Files are the paths of the two files, transactions first.
func (o *FraudOptions) Files() [2]storage.Location {
	return [2]storage.Location{o.Out.Join(fraudTransactionFile), o.Out.Join(fraudIdentityFile)}
}
