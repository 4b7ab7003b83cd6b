package decide

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// CascadeFile is a cascade file.
type CascadeFile struct {
	Info *cascade.Info

	path  string
	model *onnx.Model
}

// ReadCascade reads a cascade file. A file that is not a cascade, or whose metadata is contradictory, is a *costs.DataError: for the user it is
// an input like any other.
func ReadCascade(ctx context.Context, at storage.Location) (*CascadeFile, error) {
	local, err := at.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	m, info, err := cascade.Read(local)
	var onDisk *fs.PathError
	switch {
	case errors.As(err, &onDisk):
		return nil, err
	case err != nil:
		return nil, &costs.DataError{Err: err}
	}
	return &CascadeFile{Info: info, path: at.String(), model: m}, nil
}

// Open opens the cascade. If the runtime refuses the graph, the error is about bad data, as for a file that cannot be read.
func (f *CascadeFile) Open(rt *ort.Runtime) (*cascade.Decider, error) {
	d, err := cascade.NewDecider(rt, f.model)
	if err == nil || errors.Is(err, ort.ErrNoRuntime) {
		return d, err
	}
	return nil, &costs.DataError{Err: fmt.Errorf("open cascade %q: %w", f.path, err)}
}

// Model is the graph with its metadata. Do not change it.
func (f *CascadeFile) Model() *onnx.Model { return f.model }

// Price applies a change to the prices of the cascade. One that does not fit it, and a price file of what calls use, are an
// *stage.OptionError.
func (f *CascadeFile) Price(c policy.PriceChange, prices storage.Location) (*policy.Prices, error) {
	if err := f.withoutUsage(prices); err != nil {
		return nil, err
	}
	p, err := f.Info.Price(c)
	if err != nil {
		return nil, priceError(f.path, f.Info.Lambda, err)
	}
	return p, nil
}

// Freeze makes a cascade with fixed prices of an any-price cascade. The errors are those of Price.
func (f *CascadeFile) Freeze(c policy.PriceChange, prices storage.Location) (*CascadeFile, *UsedPrices, error) {
	if err := f.withoutUsage(prices); err != nil {
		return nil, nil, err
	}
	m, at, err := cascade.Freeze(f.model, c)
	if err == nil {
		fixed := &CascadeFile{path: f.path, model: m}
		if fixed.Info, err = cascade.Parse(m); err == nil {
			return fixed, NewUsedPrices(f.Info.Actions, at, c.Without), nil
		}
	}
	return nil, nil, priceError(f.path, f.Info.Lambda, err)
}

// withoutUsage refuses a price file of what calls use.
func (f *CascadeFile) withoutUsage(prices storage.Location) error {
	if prices.IsZero() {
		return nil
	}
	return &stage.OptionError{Err: fmt.Errorf("prices %q: %q is a cascade, which knows nothing of what calls use: measured fees are part of its losses (pipe train --cascade --prices FILE trains one at other prices)", prices, f.path)}
}
