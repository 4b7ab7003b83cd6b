package lightgbm

import (
	"fmt"
	"sync"
)

// Booster is a trained model inside the library. It is safe for concurrent use.
type Booster struct {
	library *Library
	text    string
	params  string // of predictions

	mu      sync.Mutex // held while a call uses the handle
	handle  uintptr    // 0: closed
	columns int
}

// Load makes a booster from a model's text. Its predictions use the given number of threads, at least 1.
func (l *Library) Load(text string, threads int) (*Booster, error) {
	if err := between("threads", threads, 1, 1024); err != nil {
		return nil, fmt.Errorf("lightgbm: load: %w", err)
	}
	// LightGBM does not check a damaged text, so our own reader checks it first.
	if _, err := ParseModel([]byte(text)); err != nil {
		return nil, err
	}
	b := &Booster{library: l, text: text, params: fmt.Sprintf("num_threads=%d verbosity=-1", threads)}
	var rounds, columns int32
	err := l.call("load", func(n *native) int32 {
		if code := n.boosterLoad(text, &rounds, &b.handle); code != 0 {
			return code
		}
		return n.boosterColumns(b.handle, &columns)
	})
	if err != nil {
		_ = b.Close() // return the error of the load
		return nil, err
	}
	b.columns = int(columns)
	return b, nil
}

// Text is the model in LightGBM's text format, which Load and ParseModel read. Equal trainings give equal text.
func (b *Booster) Text() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handle == 0 {
		return "", fmt.Errorf("lightgbm: booster %w", errClosed)
	}
	return b.text, nil
}

// Columns is the number of values in a row.
func (b *Booster) Columns() int { return b.columns }

// Predict returns the probability of label 1 for every row, or the estimate of a regression.
// x: rows x Columns, row-major; NaN is missing.
func (b *Booster) Predict(x []float32, rows int) ([]float64, error) {
	return b.predict(x, rows, predictNormal)
}

func (b *Booster) predict(x []float32, rows int, kind int32) ([]float64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handle == 0 {
		return nil, fmt.Errorf("lightgbm: booster %w", errClosed)
	}
	if err := checkMatrix(x, rows, b.columns); err != nil {
		return nil, fmt.Errorf("lightgbm: predict: %w", err)
	}
	out := make([]float64, rows)
	var length int64
	err := b.library.call("predict", func(n *native) int32 {
		return n.boosterPredict(b.handle, first(x), typeFloat32, int32(rows), int32(b.columns), rowMajor,
			kind, 0, -1, b.params, &length, first(out))
	})
	if err == nil && length != int64(rows) {
		err = fmt.Errorf("lightgbm: predict: %d values for %d rows", length, rows)
	}
	return out, err
}

// Close frees the model after running calls have ended. It is idempotent.
func (b *Booster) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handle == 0 {
		return nil
	}
	err := b.library.call("free the booster", func(n *native) int32 { return n.boosterFree(b.handle) })
	b.handle = 0
	return err
}
