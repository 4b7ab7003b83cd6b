package trials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/strictjson"
	"pipe/models/offpolicy/anytime"
)

// Phase is how far the trial of two versions is.
type Phase string

// The phases. Those that end with "ing" are not over, and go on after a restart.
const (
	Trying    Phase = "trying"
	Promoting Phase = "promoting" // the file of the live policy is being replaced
	Promoted  Phase = "promoted"
	Stopped   Phase = "stopped"
	Returning Phase = "returning" // the file of the live policy is being put back
	Returned  Phase = "returned"
	Refused   Phase = "refused" // it could not be promoted
)

// trial is the trial of two versions, as the file keeps it.
type trial struct {
	Candidate string  `json:"candidate"` // name
	Old       string  `json:"old"`       // digest of the live version
	New       string  `json:"new"`       // digest of the candidate
	Phase     Phase   `json:"phase"`
	Share     float64 `json:"share"`   // of the candidate at the start
	Started   int64   `json:"started"` // microseconds since 1970
	Ended     int64   `json:"ended"`   // 0: it is not over
	// Gain is the interval with which the gate decided. nil: it has not.
	Gain *anytime.Interval `json:"gain"`
	Why  string            `json:"why"` // of Refused
}

// ended reports whether the two versions are not tried again.
func (t trial) ended() bool { return t.Phase != Trying }

// record is the content of the file: the trials of every live policy, the latest last.
type record struct {
	Format int                `json:"format"`
	Of     map[string][]trial `json:"trials"`
}

// most is the number of trials of a policy that are kept.
const most = 1000

const fileName = "candidates.json"

// readRecord reads the file of a folder. Without one the record is empty.
func readRecord(folder string) (*record, error) {
	file := filepath.Join(folder, fileName)
	r := &record{Format: 1, Of: map[string][]trial{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("candidates: %w", err)
	}
	*r = record{}
	if err := strictjson.Unmarshal(text, r); err != nil || r.Format != 1 || r.Of == nil {
		return nil, fmt.Errorf("candidates: %q does not have the trials of pipe serve; remove it to begin all trials again", file)
	}
	return r, nil
}

// write replaces the file. When it returns, the file is on disk.
func (r *record) write(folder string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(folder, fileName), append(text, '\n'))
}

// find is the latest trial of two versions; nil if there is none.
func (r *record) find(of, old, next string) *trial {
	for i := len(r.Of[of]) - 1; i >= 0; i-- {
		if t := r.Of[of][i]; t.Old == old && t.New == next {
			return &t
		}
	}
	return nil
}

// put makes a trial the latest one, in place of an earlier state of it.
func (r *record) put(of string, t trial) {
	all := r.Of[of]
	if n := len(all); n > 0 && all[n-1].Started == t.Started && all[n-1].New == t.New {
		all = all[:n-1]
	}
	r.Of[of] = append(all, t)
	if n := len(r.Of[of]); n > most {
		r.Of[of] = r.Of[of][n-most:]
	}
}

// latest is the latest trial of a policy; nil if there is none.
func (r *record) latest(of string) *trial {
	if n := len(r.Of[of]); n > 0 {
		return &r.Of[of][n-1]
	}
	return nil
}

func at(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04 UTC") }
