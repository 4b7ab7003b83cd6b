package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/filelock"
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

// latencyPart is the name of the settings of latency among the inputs.
const latencyPart = "latency"

// makeLatency checks that there is something to measure.
func (p *plan) makeLatency(context.Context) error {
	if p.cfg.Latency.FeePerSecond == 0 {
		return nil
	}
	if !slices.ContainsFunc(p.Experts, timed) {
		return &PartError{latencyPart, errors.New("no expert can be measured: their answers come from files or are kept")}
	}
	p.options.Fee = true
	return p.Inputs.SetJSON(part.SettingsRole, latencyPart, p.cfg.Latency)
}

func timed(e part.NamedExpert) bool {
	r, ok := e.Expert.(Recorded)
	return !ok || !r.Recorded()
}

// useLatency makes measured times the fees of this build. Fees that the pairs have already, as in the manifest of an
// output that is done, do not count: the digest is that of the times.
func (p *plan) useLatency(pairs []PairLatency) error {
	if pairs == nil {
		return nil
	}
	if err := p.checkLatency(pairs); err != nil {
		return err
	}
	p.latency = slices.Clone(pairs)
	for i := range p.latency {
		p.latency[i].Fee = 0
	}
	b, err := json.Marshal(p.latency)
	if err != nil {
		return err
	}
	p.actions.Digests[latencyPart], p.latencyFee = digest.Of(b), make([]float32, p.actions.Len())
	for i := range p.latency {
		l := &p.latency[i]
		l.Fee = p.cfg.Latency.FeePerSecond * l.Seconds
		for j, e := range p.Experts {
			if k := slices.Index(p.LevelNames(), l.Advice); e.Name == l.Expert && k >= 0 {
				p.latencyFee[p.actions.Index(j, k)] = float32(l.Fee)
			}
		}
	}
	return nil
}

// checkLatency reports times that are not those of every timed pair, in their
// order, or that no clock has measured.
func (p *plan) checkLatency(pairs []PairLatency) error {
	timed := p.timedPairs()
	if len(pairs) != len(timed) {
		return fmt.Errorf("%d pairs have times, not %d", len(pairs), len(timed))
	}
	for i, l := range pairs {
		expert, advice := p.Experts[timed[i][0]].Name, p.cfg.Advice[timed[i][1]].Name
		if l.Expert != expert || l.Advice != advice {
			return fmt.Errorf("pair %d is %q under %q, not %q under %q", i, l.Expert, l.Advice, expert, advice)
		}
		if !(l.Seconds >= 0 && l.Seconds <= maxSeconds) {
			return fmt.Errorf("%q under %q took %v seconds", l.Expert, l.Advice, l.Seconds)
		}
	}
	return nil
}

// settleLatency measures every pair, unless that was done for the same experts and the same advice before: in this
// build, or in another one that shares the folder of experts. What was found is written down before a shard depends
// on it, so that a build that goes on leaves the same bytes.
func (p *plan) settleLatency(ctx context.Context, w *work, o *Options) (err error) {
	if p.cfg.Latency.FeePerSecond == 0 || p.latency != nil {
		return nil
	}
	if err := os.MkdirAll(o.Experts, 0o777); err != nil {
		return err
	}
	l, err := filelock.Wait(ctx, filepath.Join(o.Experts, lockName), o.waits) // two builds that measure at a time measure each other
	if err != nil {
		return fmt.Errorf("folder of experts: %w", err)
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	record := latencyRecord{Format: latencyFormat, Of: p.latencyKey()}
	file := filepath.Join(o.Experts, "latency-"+digest.Short(record.Of)+".json")
	if record.Pairs, err = readLatency(file, record.Of); err != nil {
		return err
	}
	if p.checkLatency(record.Pairs) != nil { // none, or a damaged file
		if record.Pairs, err = p.measureLatency(ctx, o.Progress); err != nil {
			return fmt.Errorf("measure latency: %w", err)
		}
		if err := record.write(file); err != nil {
			return err
		}
	}
	if err := p.useLatency(record.Pairs); err != nil {
		return err
	}
	return w.write(&manifest{Inputs: p.Inputs, Latency: p.latency})
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

// latencyKey is the digest of what times depend on: the instances, the experts, the advice, the runtime and how often
// is measured; not what a second costs, nor how answers are judged.
func (p *plan) latencyKey() string {
	parts := []string{"instances"}
	text := fmt.Sprintf("%d instances, %d repeats\n", p.cfg.Latency.Instances, p.cfg.Latency.Repeats)
	for _, pair := range p.timedPairs() {
		e, a := p.cfg.Experts[pair[0]], p.cfg.Advice[pair[1]]
		parts = append(parts, part.ExpertName(e.Name), part.AdviceName(a.Name))
		text += fmt.Sprintf("%q %s under %q %s\n", e.Name, e.Kind, a.Name, a.Kind)
	}
	for _, name := range append(p.Inputs.Of(parts...), "runtime", costs.DecoderDigest, "images") {
		text += name + " " + p.Inputs[name] + "\n"
	}
	return digest.Of([]byte(text))
}
