package costs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"pipe/internal/dataerror"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// FileDigest is "sha256:" and the hexadecimal SHA-256 of a file's bytes. It
// checks ctx between blocks. Folders, pipes and devices, which cannot be read
// twice, give a *DataError; other errors come from the operating system.
func FileDigest(ctx context.Context, path storage.Location) (string, error) {
	f, _, err := textfile.OpenAt(ctx, path)
	if err != nil {
		return "", dataerror.FromText(err)
	}
	defer f.Close()
	h := digest.New()
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		switch _, err := io.CopyN(h, f, 16<<20); {
		case errors.Is(err, io.EOF):
			return digest.Sum(h), nil
		case err != nil:
			return "", fmt.Errorf("read %q: %w", path, err)
		}
	}
}

// OutcomesDigest is "sha256:" and the hexadecimal SHA-256 of what happened on
// the given rows: the names of the pairs, and the ids, task losses and measured
// fees of the rows in their order. Features and prices are not part of it, so
// reports with equal digests are about the same outcomes.
func (t *Tensor) OutcomesDigest(rows []int) string {
	h := digest.New()
	text := func(s string) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		io.WriteString(h, s)
	}
	a := t.Actions.Len()
	for i := range a {
		text(t.Actions.Name(i))
	}
	for _, n := range rows {
		text(t.IDs[n])
		for i := n * a; i < (n+1)*a; i++ {
			var b []byte
			for _, column := range [][]float32{t.Loss, t.Fee} {
				if column != nil {
					b = binary.LittleEndian.AppendUint32(b, canonical(column[i]))
				}
			}
			h.Write(b)
		}
	}
	return digest.Sum(h)
}

// canonical are the bits of v, the same for every NaN.
func canonical(v float32) uint32 {
	if v != v {
		return math.Float32bits(float32(math.NaN()))
	}
	return math.Float32bits(v)
}
