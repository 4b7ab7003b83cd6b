package builder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pipe/experts/builder/part"
	"pipe/internal/atomicfile"
	"pipe/internal/textfile"
)

// maxSeconds is the largest time of one instance, so that fees stay far below the limit of float32.
const maxSeconds = 1e6

// PairLatency is the time that one expert takes under one advice for one instance.
type PairLatency struct {
	Expert  string  `json:"expert"`
	Advice  string  `json:"advice"`
	Seconds float64 `json:"seconds"`
	Fee     float64 `json:"fee,omitempty"` // Seconds times the fee per second
}

func timed(e part.NamedExpert) bool {
	r, ok := e.Expert.(part.Replayer)
	return !ok || !r.Replays()
}

// latencyRecord is the content of the file in the folder of experts.
type latencyRecord struct {
	Format int           `json:"format"`
	Of     string        `json:"of"` // digest of everything the times depend on
	Pairs  []PairLatency `json:"pairs"`
}

const latencyFormat = 1

// readLatency returns the times in a file, nil if it does not exist or is about another build.
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

// median is the median of some numbers, the upper one of two.
func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
