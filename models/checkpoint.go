package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"pipe/internal/atomicfile"
	"pipe/internal/textfile"
)

// CheckpointPolicy says where and how often a training run is saved. Each
// group has its own file group-N.ckpt in Dir; a run that is started again with
// the same problem, specs and settings continues from them to the same bits.
type CheckpointPolicy struct {
	Dir   string        // empty: no checkpoints
	Every time.Duration // least time between two saves of a group
}

const (
	checkpointMagic  = "PIPECKPT"
	checkpointFormat = 1
)

// Checkpoint is the readable head of a checkpoint file. The file is the magic
// PIPECKPT, a little-endian uint64 length, this head as JSON, the recorder's
// state, the training state as little-endian float32 (per parameter value, M
// and V, [S, rows, cols], then the scale), and a SHA-256 of all that.
type Checkpoint struct {
	Format   int         `json:"format"`
	Key      string      `json:"key"`     // digest of data, specs, settings, training graph, runtime and device
	Group    int         `json:"group"`   // index of the group in its run
	Step     int         `json:"step"`    // steps taken
	Steps    int         `json:"steps"`   // of the whole run
	Stopped  bool        `json:"stopped"` // the recorder ended training here
	Settings Settings    `json:"settings"`
	Specs    []Spec      `json:"specs"`
	Params   []string    `json:"params"`  // names and shapes
	Losses   [][]float64 `json:"losses"`  // per model, per finished epoch
	Partial  []float64   `json:"partial"` // per model, of the epoch in progress
	Recorder int         `json:"recorder_bytes"`
	Floats   int         `json:"floats"`
}

// ErrOtherCheckpoint is wrapped when a checkpoint belongs to another run.
var ErrOtherCheckpoint = errors.New("checkpoint belongs to another training run")

// maxCheckpoint bounds the file, in bytes: it is read whole.
const maxCheckpoint = 16 << 30

// ReadCheckpoint reads and verifies a checkpoint file's head.
func ReadCheckpoint(path string) (*Checkpoint, error) {
	c, _, _, err := readCheckpoint(path)
	return c, err
}

func readCheckpoint(path string) (c *Checkpoint, recorder, state []byte, err error) {
	b, err := textfile.ReadFile(path, maxCheckpoint)
	if err != nil {
		return nil, nil, nil, err
	}
	if c, recorder, state, err = parseCheckpoint(b); err != nil {
		err = fmt.Errorf("read checkpoint %q: %w", path, err)
	}
	return c, recorder, state, err
}

// parseCheckpoint takes a file's bytes apart; recorder and state point into b.
func parseCheckpoint(b []byte) (c *Checkpoint, recorder, state []byte, err error) {
	const lead = len(checkpointMagic) + 8
	if len(b) < lead+sha256.Size || string(b[:len(checkpointMagic)]) != checkpointMagic {
		return nil, nil, nil, errors.New("not a checkpoint file")
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return nil, nil, nil, errors.New("checksum does not match: the file is damaged")
	}
	n := binary.LittleEndian.Uint64(b[len(checkpointMagic):])
	if n > uint64(len(body)-lead) {
		return nil, nil, nil, errors.New("head is longer than the file")
	}
	c = &Checkpoint{}
	if err := json.Unmarshal(body[lead:lead+int(n)], c); err != nil {
		return nil, nil, nil, err
	}
	if c.Format < 1 || c.Format > checkpointFormat {
		return nil, nil, nil, fmt.Errorf("format %d, this program knows 1 to %d", c.Format, checkpointFormat)
	}
	rest := body[lead+int(n):]
	if c.Recorder < 0 || c.Floats < 0 || c.Recorder > len(rest) || c.Floats != (len(rest)-c.Recorder)/4 || (len(rest)-c.Recorder)%4 != 0 {
		return nil, nil, nil, errors.New("state is not as long as the head says")
	}
	return c, rest[:c.Recorder], rest[c.Recorder:], nil
}

// path of a group's file.
func (p CheckpointPolicy) path(g *group) string {
	return filepath.Join(p.Dir, fmt.Sprintf("group-%d.ckpt", g.index))
}

// save writes the run's state if the policy asks for it by now, and always at
// the end of a run.
func (p CheckpointPolicy) save(r *run, rec Recorder) error {
	steps := r.g.settings.Epochs * r.g.perEpoch
	if p.Dir == "" || (!r.stopped && r.step < steps && time.Since(r.saved) < p.Every) {
		return nil
	}
	c := Checkpoint{
		Format: checkpointFormat, Key: r.key, Group: r.g.index, Step: r.step, Steps: steps, Stopped: r.stopped,
		Settings: r.g.settings, Specs: r.g.plan.specs, Losses: r.losses, Partial: r.partial,
	}
	for _, q := range r.g.plan.net.params() {
		c.Params = append(c.Params, fmt.Sprintf("%s %dx%d", q.name, q.rows, q.cols))
	}
	var extra []byte
	if rec != nil {
		var err error
		if extra, err = rec.Save(r.g.members); err != nil {
			return fmt.Errorf("save checkpoint: %w", err)
		}
	}
	c.Recorder = len(extra)
	for _, b := range r.state[r.front] {
		c.Floats += len(b.Float32s())
	}
	head, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	b := binary.LittleEndian.AppendUint64([]byte(checkpointMagic), uint64(len(head)))
	b = append(append(b, head...), extra...)
	for _, buf := range r.state[r.front] {
		b = append(b, buf.Bytes()...)
	}
	sum := sha256.Sum256(b)
	if err := os.MkdirAll(p.Dir, 0o777); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if err := atomicfile.WriteFile(p.path(r.g), append(b, sum[:]...)); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	r.saved = time.Now()
	return nil
}

// load continues from the group's file, if there is one.
func (p CheckpointPolicy) load(r *run, rec Recorder) error {
	r.saved = time.Now()
	if p.Dir == "" {
		return nil
	}
	c, extra, state, err := readCheckpoint(p.path(r.g))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; without it its models start over", err)
	}
	if c.Key != r.key {
		return fmt.Errorf("%q: %w", p.path(r.g), ErrOtherCheckpoint)
	}
	if err := r.restore(c, state); err != nil {
		return fmt.Errorf("read checkpoint %q: %w", p.path(r.g), err)
	}
	if rec != nil {
		return rec.Load(r.g.members, extra)
	}
	return nil
}

// restore takes over a checkpoint's state.
func (r *run) restore(c *Checkpoint, state []byte) error {
	want := 0
	for _, buf := range r.state[r.front] {
		want += len(buf.Bytes())
	}
	models := len(r.g.members)
	if len(state) != want || len(c.Losses) != models || len(c.Partial) != models || c.Step < 0 || c.Step > c.Steps {
		return errors.New("state does not fit the models")
	}
	for _, buf := range r.state[r.front] {
		state = state[copy(buf.Bytes(), state):]
	}
	r.step, r.stopped, r.losses, r.partial = c.Step, c.Stopped, c.Losses, c.Partial
	return nil
}

// runKey identifies what a group trains on: the same key means that a
// checkpoint continues to the same bits.
func runKey(g *group, graph []byte, dataDigest, runtime string) string {
	h := sha256.New()
	h.Write(graph)
	fmt.Fprintln(h, checkpointFormat, dataDigest, runtime)
	json.NewEncoder(h).Encode(g.settings)
	json.NewEncoder(h).Encode(g.plan.specs)
	for _, r := range g.rows {
		fmt.Fprintln(h, len(r))
		h.Write(rawBytes(r))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// digest identifies a problem's content.
func (p *Problem) digest() string {
	h := sha256.New()
	fmt.Fprintln(h, p.Dim, p.Experts, p.Advice, p.Beta, p.Gamma, p.Mask)
	h.Write(rawBytes(p.Features))
	h.Write(rawBytes(p.Target))
	return hex.EncodeToString(h.Sum(nil))
}

// rawBytes views numbers as the machine's bytes.
func rawBytes[T float32 | int32](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}
