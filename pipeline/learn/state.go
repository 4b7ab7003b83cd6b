package learn

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"time"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// state is what the loop remembers between runs. It is written last.
type state struct {
	Format   int       `json:"format"`
	At       time.Time `json:"at"`      // of the last run that looked at the log
	From     time.Time `json:"from"`    // decisions from then on were not learned from yet
	Seen     seen      `json:"seen"`    // what it saw
	Verdict  Verdict   `json:"verdict"` // what it did
	Sentence string    `json:"sentence"`
	Stopped  []string  `json:"stopped"` // digests of candidates that the gate stopped
}

// seen is what the result of a run follows from.
type seen struct {
	Outcomes int    `json:"outcomes"`     // in the window
	Last     int64  `json:"last_outcome"` // when it came, microseconds since 1970
	Deployed string `json:"deployed"`     // digest
	Settings string `json:"settings"`     // digest
}

const stateFormat = 1

// readState reads the state of the run before; the zero state if there was none. A file that is no state is a *costs.DataError.
func readState(ctx context.Context, path storage.Location) (s state, err error) {
	text, err := textfile.ReadFileAt(ctx, path, textfile.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil || s.Format != stateFormat {
		return s, &costs.DataError{File: path.String(), Msg: "is no state of this version of pipe learn; remove it, and the next run reads the log anew", Err: err}
	}
	return s, nil
}

func (s *state) write(ctx context.Context, path storage.Location) error {
	s.Format = stateFormat
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFileAt(ctx, path, append(text, '\n'))
}

// stop remembers a candidate that the gate stopped.
func (s *state) stop(digest string) {
	if !slices.Contains(s.Stopped, digest) {
		s.Stopped = append(s.Stopped, digest)
	}
}
