// Package location names files and folders: paths of this machine, and URLs of object stores.
//
// Functions of this module that read or write what a user named take a [Location]. A program makes one of each path or URL,
// where it gets it:
//
//	at, err := location.Parse("s3://data/costs.parquet?region=eu-west-1")
//	tensor, err := costs.Read(ctx, at, costs.ReadOptions{})
//
// URLs need the drivers of their stores: import pipe/cloud for them.
package location

import "pipe/internal/storage"

// Location is where a file or folder is. Its methods do for it what package os does for paths.
type Location = storage.Location

// File returns the location of a path of this machine, whatever it looks like.
func File(path string) Location { return storage.File(path) }

// Files is File for several.
func Files(paths ...string) []Location { return storage.Files(paths...) }

// Parse returns the location of a path or URL that a user wrote. "" is none. A URL that is mistyped, or whose scheme is not
// known, is an error with advice.
func Parse(pathOrURL string) (Location, error) { return storage.Parse(pathOrURL) }
