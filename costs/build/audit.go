package build

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/internal/atomicfile"
)

// audit is the texts that advice showed, one line of JSON per instance and level
// that shows any. A nil audit keeps nothing.
type audit struct{ lines bytes.Buffer }

// auditLine is a line of an audit.
type auditLine struct {
	ID     string   `json:"id"`
	Advice string   `json:"advice"`
	Query  string   `json:"query"` // by which the passages were found
	Pages  []string `json:"pages"`
	Texts  []string `json:"texts"`
}

func (p *plan) newAudit() *audit {
	if !p.cfg.Audit {
		return nil
	}
	return &audit{}
}

// add notes what the levels of advice show of a batch, instance by instance.
func (a *audit) add(names []string, batch []part.Instance, shown [][]part.Shown) error {
	if a == nil {
		return nil
	}
	e := json.NewEncoder(&a.lines)
	e.SetEscapeHTML(false)
	for n := range batch {
		for k, level := range shown {
			s := &level[n]
			if len(s.Passages) == 0 && s.Query == "" {
				continue
			}
			line := auditLine{ID: batch[n].ID, Advice: names[k], Query: s.Query, Pages: []string{}, Texts: []string{}}
			if line.Query == "" {
				line.Query = batch[n].Text
			}
			for _, p := range s.Passages {
				line.Pages, line.Texts = append(line.Pages, p.Page), append(line.Texts, p.Text)
			}
			if err := e.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

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
	return writeZipped(w.folder, w.auditPart(shard), func(to io.Writer) error {
		_, err := to.Write(a.lines.Bytes())
		return err
	})
}

// copyAudit appends the audit of a shard; it fails if that is not there or damaged.
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

// writeZipped makes a gzip file in a folder, whole or not at all.
func writeZipped(folder, path string, write func(io.Writer) error) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	z := gzip.NewWriter(f)
	if err := write(z); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// publishAudit gives a finished audit its name.
func (w *work) publishAudit() error {
	err := os.Rename(w.file(finalAuditName), w.auditFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is none, or it has its name
	}
	return err
}

// auditSettled brings the audit of a finished build to its name and reports
// whether it is there.
func (w *work) auditSettled(ctx context.Context, m *manifest) error {
	if m.Done.Audit == "" {
		return nil
	}
	if sum, _ := costs.FileDigest(ctx, w.file(finalAuditName)); sum == m.Done.Audit {
		return w.publishAudit()
	}
	sum, err := costs.FileDigest(ctx, w.auditFile())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || sum != m.Done.Audit {
		return fmt.Errorf("audit %q is not the file that was built with the output; put it back, or start over with --restart", w.auditFile())
	}
	return nil
}

// dropAudit removes the audit of a build that is started over; a file that is not
// that audit stays.
func (w *work) dropAudit(ctx context.Context, m *manifest) error {
	if m == nil || m.Done == nil || m.Done.Audit == "" {
		return nil
	}
	if sum, err := costs.FileDigest(ctx, w.auditFile()); err != nil || sum != m.Done.Audit {
		return nil
	}
	return os.Remove(w.auditFile())
}
