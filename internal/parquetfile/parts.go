package parquetfile

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// Parts returns the files of a table: path itself, or the .parquet files in the folder path, sorted by name. Names that
// start with a dot or an underscore are skipped. folder is the folder that contains them. If a folder has no such file,
// or is Managed, the error is a *dataerror.Error.
func Parts(ctx context.Context, path storage.Location) (files []storage.Location, folder storage.Location, err error) {
	info, err := path.Stat(ctx)
	if err != nil {
		return nil, storage.Location{}, err
	}
	if !info.IsDir() {
		return []storage.Location{path}, path.Dir(), nil
	}
	if err := checkManaged(ctx, path); err != nil {
		return nil, storage.Location{}, err
	}
	entries, err := path.ReadDir(ctx)
	if err != nil {
		return nil, storage.Location{}, err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".parquet") && name[0] != '.' && name[0] != '_' && !isFolder(ctx, path, e) {
			files = append(files, path.Join(name))
		}
	}
	if len(files) == 0 {
		return nil, storage.Location{}, &dataerror.Error{File: path.String(), Msg: "the folder has no .parquet file"}
	}
	return files, path, nil
}

// isFolder reports whether an entry of a folder is a folder, or a link to one.
func isFolder(ctx context.Context, path storage.Location, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := path.Join(e.Name()).Stat(ctx)
	return err == nil && info.IsDir()
}

// InColumn turns an error about the content of a file into a *dataerror.Error and returns other errors unchanged.
// column may be "".
func InColumn(column string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return &dataerror.Error{Column: column, Err: err}
	}
	return err
}
