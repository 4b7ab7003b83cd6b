package grow

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"pipe/costs"
	"pipe/internal/digest"
	"pipe/internal/parquetfile"
)

// fileDigest is the digest of a file, or of the files of a folder.
func fileDigest(ctx context.Context, path string) (string, error) {
	files, _, err := parquetfile.Parts(path)
	if err != nil {
		return "", err
	}
	if len(files) == 1 && files[0] == path {
		return costs.FileDigest(ctx, path)
	}
	var lines strings.Builder
	for _, file := range files {
		sum, err := costs.FileDigest(ctx, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, filepath.Base(file))
	}
	return digest.Of([]byte(lines.String())), nil
}
