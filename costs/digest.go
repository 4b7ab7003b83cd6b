package costs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// FileDigest is "sha256:" and the hexadecimal SHA-256 of a file's bytes; a
// long file is left between blocks when ctx ends. Folders, pipes and devices,
// which cannot be read twice, are a *DataError; other errors are the system's.
func FileDigest(ctx context.Context, path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", &DataError{File: path, Msg: "is no regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		switch _, err := io.CopyN(h, f, 16<<20); {
		case errors.Is(err, io.EOF):
			return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", fmt.Errorf("read %q: %w", path, err)
		}
	}
}
