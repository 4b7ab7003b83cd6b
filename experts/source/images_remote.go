package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pipe/featurize/pixel"
	"pipe/internal/storage"
)

// listObjects is listImages for a folder in an object store, which has no links.
func listObjects(ctx context.Context, folder string) (ids []string, err error) {
	in, err := storage.OpenFolder(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	for o, err := range in.List(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("list images: %w", err)
		}
		hidden := strings.HasPrefix(o.Name, ".") || strings.Contains(o.Name, "/.")
		if !hidden && isImageName(o.Name) {
			ids = append(ids, o.Name)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("list images: %q has none (%s)", in, strings.Join(pixel.Extensions, " "))
	}
	slices.Sort(ids)
	return ids, nil
}
