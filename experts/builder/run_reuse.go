package builder

import (
	"context"
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

// reusable returns the manifest of a finished output whose rows are those of this
// build but for the split, nil if there is none. Rows are not taken over where
// losses depend on which of them train, and where the texts of advice are kept.
func (p *plan) reusable(ctx context.Context, out string) (*manifest, error) {
	if out == "" || p.DependsOnSplit() || p.cfg.Audit {
		return nil, nil
	}
	other := &work{out: out, folder: workFolder(out)}
	m, err := other.read()
	if err != nil || m == nil || m.Done == nil {
		return nil, err
	}
	for _, change := range difference(m.Inputs, p.Inputs) {
		if !strings.HasPrefix(change, part.InputName(part.SettingsRole, splitPart)+" ") {
			return nil, nil
		}
	}
	sum, err := costs.FileDigest(ctx, storage.File(out))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || sum != m.Done.File {
		return nil, nil
	}
	return m, nil
}

// takeOver writes the rows of another output, whose manifest is given, with the
// split of this build.
func (p *plan) takeOver(ctx context.Context, w *work, r *Report, other *manifest, out string) error {
	if err := p.useLatency(other.Latency); err != nil {
		return fmt.Errorf("take rows of %q over: latency: %w", out, err)
	}
	r.Resumed, r.Answers, r.Latency = r.Shards, other.Done.Answers, p.latency
	return p.finish(ctx, w, r, "", fromFile(ctx, p, out))
}
