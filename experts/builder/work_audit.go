package builder

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

const (
	auditSuffix    = "-advice.jsonl.gz"
	finalAuditName = "final" + auditSuffix
)

// auditFile is the audit beside the output.
func (w *work) auditFile() string { return strings.TrimSuffix(w.out, ".parquet") + auditSuffix }

// auditPart is the audit of a shard.
func (w *work) auditPart(shard int) string {
	return w.file(fmt.Sprintf("part-%06d.jsonl.gz", shard))
}

// saveAudit writes the audit of a shard, if there is one.
func (w *work) saveAudit(shard int, a *audit) error {
	if a == nil {
		return nil
	}
	return writeZipped(w.auditPart(shard), func(to io.Writer) error {
		_, err := to.Write(a.lines.Bytes())
		return err
	})
}

// copyAudit appends the audit of a shard; it fails if the audit is missing or damaged.
func (w *work) copyAudit(to io.Writer, shard int) error {
	f, err := os.Open(w.auditPart(shard))
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err == nil {
		_, err = io.Copy(to, z)
	}
	if err != nil {
		return &costs.DataError{File: w.auditPart(shard), Err: err}
	}
	return nil
}

// publishAudit renames a finished audit to its path.
func (w *work) publishAudit() error {
	err := atomicfile.Rename(w.file(finalAuditName), w.auditFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is none, or it has its name
	}
	return err
}

// auditSettled renames the audit of a finished build to its path, and reports
// whether it exists.
func (w *work) auditSettled(ctx context.Context, m *manifest) error {
	if m.Done.Audit == "" {
		return nil
	}
	if sum, _ := costs.FileDigest(ctx, storage.File(w.file(finalAuditName))); sum == m.Done.Audit {
		return w.publishAudit()
	}
	sum, err := costs.FileDigest(ctx, storage.File(w.auditFile()))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || sum != m.Done.Audit {
		return fmt.Errorf("audit %q is not the file that was built with the output; put it back, or start over with --restart", w.auditFile())
	}
	return nil
}

// dropAudit removes the audit of a build that is started over; it keeps a file
// that is not that audit.
func (w *work) dropAudit(ctx context.Context, m *manifest) error {
	if m == nil || m.Done == nil || m.Done.Audit == "" {
		return nil
	}
	if sum, err := costs.FileDigest(ctx, storage.File(w.auditFile())); err != nil || sum != m.Done.Audit {
		return nil
	}
	return os.Remove(w.auditFile())
}

// finishAudit joins the audits of the shards and returns the digest of the file.
func (p *plan) finishAudit(ctx context.Context, w *work) (string, error) {
	if !p.cfg.Audit {
		return "", nil
	}
	final := w.file(finalAuditName)
	err := writeZipped(final, func(to io.Writer) error {
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
	return costs.FileDigest(ctx, storage.File(final))
}
