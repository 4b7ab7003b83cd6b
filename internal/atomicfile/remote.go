package atomicfile

import "pipe/internal/storage"

// local returns the path of a file URL, and the form that package storage gives the paths of others. A URL that is not
// known is an error: it must never become a local folder.
func local(path string) (string, error) { return storage.Path(path) }
