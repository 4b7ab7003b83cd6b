package builder

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pipe/costs"
	"pipe/internal/atomicfile"
)

// packName is the file of a range: an archive of the files that a work folder has of its shards, in their order. One
// object for a range costs less than one for each of its files.
const packName = "rows.tar"

// pack writes the files of some shards into an archive without times and owners, so that its bytes depend on theirs alone.
func (b *Sharded) pack(w *work, from, to int, path string) error {
	return atomicfile.Write(path, func(out io.Writer) error {
		t := tar.NewWriter(out)
		for shard := from; shard < to; shard++ {
			for _, file := range b.filesOf(w, shard) {
				if err := addFile(t, file); err != nil {
					return err
				}
			}
		}
		return t.Close()
	})
}

// filesOf lists the files of a shard.
func (b *Sharded) filesOf(w *work, shard int) []string {
	list := []string{w.part(shard)}
	if len(b.p.session.Parts()) > 0 {
		list = append(list, w.countsFile(shard))
	}
	if b.p.cfg.Audit {
		list = append(list, w.auditPart(shard))
	}
	return list
}

func addFile(t *tar.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: filepath.Base(path), Size: info.Size(), Mode: 0o644, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// unpack writes the files of an archive of some shards into the folder of w, which must be those that it should have.
func (b *Sharded) unpack(ctx context.Context, w *work, from, to int, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	t := tar.NewReader(f)
	for shard := from; shard < to; shard++ {
		for _, file := range b.filesOf(w, shard) {
			h, err := t.Next()
			if err == nil && h.Name != filepath.Base(file) {
				err = fmt.Errorf("it has a file %q in the place of %q", h.Name, filepath.Base(file))
			}
			if err == nil {
				err = atomicfile.Write(file, func(out io.Writer) error { _, err := io.Copy(out, t); return err })
			}
			if err != nil {
				return errors.Join(ctx.Err(), &costs.DataError{File: path, Err: err})
			}
		}
	}
	return nil
}
