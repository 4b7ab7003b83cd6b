package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"pipe/internal/atomicfile"
)

// checkpointPath is the file of a group.
func checkpointPath(dir string, g *group) string {
	return filepath.Join(dir, fmt.Sprintf("group-%d.ckpt", g.index))
}

// save writes the run's state if it is due according to the policy, and always at the end of a run.
func (r *run) save(p CheckpointPolicy) error {
	steps := r.g.settings.Epochs * r.g.perEpoch
	if p.Dir == "" || r.step < steps && time.Since(r.saved) < p.Every {
		return nil
	}
	b, err := r.checkpoint(steps)
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if _, err := atomicfile.MkdirAll(p.Dir); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	if err := atomicfile.WriteFile(checkpointPath(p.Dir, r.g), b); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	r.saved = time.Now()
	return nil
}

// checkpoint is the run as a file; steps is the total of the whole run.
func (r *run) checkpoint(steps int) ([]byte, error) {
	c := Checkpoint{
		Key: r.key, Group: r.g.index, Step: r.step, Steps: steps,
		Settings: r.g.settings, Specs: r.g.plan.specs, Losses: r.losses, Partial: r.partial,
	}
	for _, q := range r.g.plan.net.params() {
		c.Params = append(c.Params, fmt.Sprintf("%s %dx%d", q.name, q.rows, q.cols))
	}
	var state [][]byte
	for _, b := range r.state[r.front] {
		state = append(state, b.Bytes())
	}
	return c.marshal(state)
}

// load continues from the group's file, if there is one.
func (r *run) load(p CheckpointPolicy) error {
	r.saved = time.Now()
	if p.Dir == "" {
		return nil
	}
	path := checkpointPath(p.Dir, r.g)
	c, state, err := readCheckpoint(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; without it its models start over", err)
	}
	if c.Key != r.key {
		return fmt.Errorf("%q: %w", path, ErrOtherCheckpoint)
	}
	if err := r.restore(c, state); err != nil {
		return fmt.Errorf("read checkpoint %q: %w", path, err)
	}
	return nil
}

// restore sets the run to the state of a checkpoint.
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
	r.step, r.losses, r.partial = c.Step, c.Losses, c.Partial
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
