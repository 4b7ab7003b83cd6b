package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pipe/internal/textfile"
)

// CheckpointPolicy says where and how often a training run is saved. Each group of models has a file group-N.ckpt in
// Dir. A run that is restarted with the same problem, specs and settings continues from them, with bit-identical
// results.
type CheckpointPolicy struct {
	Dir   string        // empty: no checkpoints
	Every time.Duration // least time between two saves of a group
}

const (
	checkpointMagic  = "PIPECKPT"
	checkpointFormat = 1
)

// Checkpoint is the readable head of a checkpoint file. The file is the magic PIPECKPT, a little-endian uint64 length,
// this head as JSON, the training state as little-endian float32 (per parameter value, M and V, [S, rows, cols], then
// the scale), and a SHA-256 of all that.
type Checkpoint struct {
	Format   int         `json:"format"`
	Key      string      `json:"key"`   // digest of data, specs, settings, training graph, runtime and device
	Group    int         `json:"group"` // index of the group in its run
	Step     int         `json:"step"`  // steps taken
	Steps    int         `json:"steps"` // of the whole run
	Settings Settings    `json:"settings"`
	Specs    []Spec      `json:"specs"`
	Params   []string    `json:"params"`  // names and shapes
	Losses   [][]float64 `json:"losses"`  // per model, per finished epoch
	Partial  []float64   `json:"partial"` // per model, of the epoch in progress
	Floats   int         `json:"floats"`  // numbers of the training state
}

// ErrOtherCheckpoint is wrapped if a checkpoint belongs to another run.
var ErrOtherCheckpoint = errors.New("checkpoint belongs to another training run")

// maxCheckpoint bounds the size of the file in bytes, because it is read whole.
const maxCheckpoint = 16 << 30

// ReadCheckpoint reads the head of a checkpoint file and checks the whole file
// against its digest.
func ReadCheckpoint(path string) (*Checkpoint, error) {
	c, _, err := readCheckpoint(path)
	return c, err
}

func readCheckpoint(path string) (c *Checkpoint, state []byte, err error) {
	b, err := textfile.ReadFile(path, maxCheckpoint)
	if err != nil {
		return nil, nil, err
	}
	if c, state, err = parseCheckpoint(b); err != nil {
		err = fmt.Errorf("read checkpoint %q: %w", path, err)
	}
	return c, state, err
}

// parseCheckpoint splits a file's bytes; state points into b.
func parseCheckpoint(b []byte) (c *Checkpoint, state []byte, err error) {
	const lead = len(checkpointMagic) + 8
	if len(b) < lead+sha256.Size || string(b[:len(checkpointMagic)]) != checkpointMagic {
		return nil, nil, errors.New("not a checkpoint file")
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return nil, nil, errors.New("checksum does not match: the file is damaged")
	}
	n := binary.LittleEndian.Uint64(b[len(checkpointMagic):])
	if n > uint64(len(body)-lead) {
		return nil, nil, errors.New("head is longer than the file")
	}
	c = &Checkpoint{}
	if err := json.Unmarshal(body[lead:lead+int(n)], c); err != nil {
		return nil, nil, err
	}
	if c.Format < 1 || c.Format > checkpointFormat {
		return nil, nil, fmt.Errorf("format %d, this program knows 1 to %d", c.Format, checkpointFormat)
	}
	state = body[lead+int(n):]
	if c.Floats != len(state)/4 || len(state)%4 != 0 {
		return nil, nil, errors.New("the length of the state differs from the head")
	}
	return c, state, nil
}

// marshal returns the whole file of a checkpoint. It sets Floats of the head.
func (c Checkpoint) marshal(state [][]byte) ([]byte, error) {
	c.Format, c.Floats = checkpointFormat, 0
	for _, b := range state {
		c.Floats += len(b) / 4
	}
	head, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint64([]byte(checkpointMagic), uint64(len(head)))
	b = append(b, head...)
	for _, s := range state {
		b = append(b, s...)
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}
