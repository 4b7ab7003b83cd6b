package costs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"pipe/internal/dataerror"
	"pipe/internal/digest"
	"pipe/internal/textfile"
)

// FileDigest is "sha256:" and the hexadecimal SHA-256 of a file's bytes. It
// checks ctx between blocks. Folders, pipes and devices, which cannot be read
// twice, give a *DataError; other errors come from the operating system.
func FileDigest(ctx context.Context, path string) (string, error) {
	f, _, err := textfile.Open(path)
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
