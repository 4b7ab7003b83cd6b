package builder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pipe/costs/builder/part"
	"pipe/internal/atomicfile"
	"pipe/internal/textfile"
)

// maxSeconds bounds the time of one instance, so that fees stay far from what float32 holds.
const maxSeconds = 1e6

// PairLatency is the time that one expert takes under one advice for one instance.
type PairLatency struct {
	Expert  string  `json:"expert"`
	Advice  string  `json:"advice"`
	Seconds float64 `json:"seconds"`
	Fee     float64 `json:"fee,omitempty"` // Seconds times the fee per second
}

// Recorded is an expert whose answers were made elsewhere or are kept: how long it takes cannot be measured, and its
// fees are its own.
type Recorded interface {
	Recorded() bool
}

func timed(e part.NamedExpert) bool {
	r, ok := e.Expert.(Recorded)
	return !ok || !r.Recorded()
}

// latencyRecord is the content of the file in the folder of experts.
type latencyRecord struct {
	Format int           `json:"format"`
	Of     string        `json:"of"` // digest of what the times depend on
	Pairs  []PairLatency `json:"pairs"`
}

const latencyFormat = 1

// readLatency returns the times of a file, nil if there is none or it tells of something else.
func readLatency(file, of string) ([]PairLatency, error) {
	b, err := textfile.ReadFile(file, textfile.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read latency: %w", err)
	}
	var r latencyRecord
	if err := json.Unmarshal(b, &r); err != nil || r.Format != latencyFormat || r.Of != of {
		return nil, nil // measured anew
	}
	return r.Pairs, nil
}

func (r *latencyRecord) write(file string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = atomicfile.WriteFile(file, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write latency: %w", err)
	}
	return nil
}

// median is the middle one of some numbers, the upper of two.
func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
