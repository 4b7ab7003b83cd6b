package feature

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/featurize/pixel"
)

// pooled is the mean colour of the cells of a grid over the image.
type pooled struct{ grid int }

type pooledSettings struct {
	Grid int `json:"grid"`
}

func newPooled(_ context.Context, s *part.Setup, settings map[string]any) (part.Feature, error) {
	cfg := pooledSettings{Grid: 4}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.Grid < 1 || cfg.Grid > 256 {
		return nil, fmt.Errorf("grid is %d, not 1 to 256 cells per side", cfg.Grid)
	}
	return pooled{cfg.Grid}, nil
}

func (f pooled) Name() string { return fmt.Sprintf("pooled %dx%d", f.grid, f.grid) }

// Dim returns three channels per cell.
func (f pooled) Dim() int { return 3 * f.grid * f.grid }

// Encode writes channel means in 0..1, cells by row, channels innermost.
func (f pooled) Encode(_ context.Context, dst []float32, b *part.Batch) error {
	for n := range b.Instances {
		in := &b.Instances[n]
		if in.Image == nil {
			return &costs.DataError{Msg: fmt.Sprintf("instance %q has no image to pool", in.ID)}
		}
		if err := pixel.Pool(dst[n*f.Dim():], in.Image, f.grid); err != nil {
			return &costs.DataError{Msg: fmt.Sprintf("instance %q", in.ID), Err: err}
		}
	}
	return nil
}
