package builder

import (
	"context"
	"fmt"
	"io"

	"pipe/costs"
)

// finishAudit joins the audits of the shards and returns the digest of the file.
func (p *plan) finishAudit(ctx context.Context, w *work) (string, error) {
	if !p.cfg.Audit {
		return "", nil
	}
	final := w.file(finalAuditName)
	err := writeZipped(w.folder, final, func(to io.Writer) error {
		for shard := range p.shards() {
			if err := w.copyAudit(to, shard); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("write audit: %w", err)
	}
	return costs.FileDigest(ctx, final)
}
