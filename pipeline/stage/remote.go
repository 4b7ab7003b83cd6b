package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pipe/internal/storage"
)

// RemoteOutput is a file in an object store that is made on this machine first, because its maker needs a work folder
// beside it. An interrupted run goes on there.
type RemoteOutput struct {
	Local storage.Location // the path to make
	out   storage.Location
}

// OpenRemoteOutput returns where to make an output: the file out, or file in the folder out. It is nil for a local
// output. An output that exists and was not made on this machine is an error, unless replace is set.
func OpenRemoteOutput(ctx context.Context, out storage.Location, file string, replace bool) (*RemoteOutput, error) {
	if !out.IsRemote() {
		return nil, nil
	}
	r := &RemoteOutput{out: out}
	if !strings.HasSuffix(strings.ToLower(r.out.String()), filepath.Ext(file)) {
		r.out = r.out.Join(file)
	}
	local, err := r.out.Work()
	if err != nil {
		return nil, err
	}
	r.Local = storage.File(local)
	_, here := os.Stat(local)
	_, there := r.out.Stat(ctx)
	switch {
	case there != nil && !errors.Is(there, fs.ErrNotExist):
		return nil, there
	case there == nil && here != nil && !replace:
		return nil, fmt.Errorf("output %q exists and was not built on this machine; remove it, or start over with --restart", r.out)
	}
	return r, nil
}

// String is the URL of the output, without parameters.
func (r *RemoteOutput) String() string { return r.out.String() }

// Store stores the finished files: those whose names begin with that of the output.
func (r *RemoteOutput) Store(ctx context.Context) error {
	files, err := os.ReadDir(r.Local.Dir().Path())
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() || !strings.HasPrefix(f.Name(), r.Local.Base()) {
			continue
		}
		if err := r.out.Dir().Join(f.Name()).Put(ctx, r.Local.Dir().Join(f.Name()).Path()); err != nil {
			return err
		}
	}
	return nil
}
