package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/digest"
)

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

// timedPairs lists expert and advice of the pairs whose time can be measured.
func (p *plan) timedPairs() (pairs [][2]int) {
	for j, e := range p.Experts {
		for k, takes := range e.Takes {
			if takes && timed(e) {
				pairs = append(pairs, [2]int{j, k})
			}
		}
	}
	return pairs
}
