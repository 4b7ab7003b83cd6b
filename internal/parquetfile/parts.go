package parquetfile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// Parts returns the files of a table: path itself, or the .parquet files in the folder path, sorted by name. Names that
// start with a dot or an underscore are skipped. folder is the folder that contains them. If a folder has no such file,
// or is Managed, the error is a *dataerror.Error.
func Parts(path string) (files []string, folder string, err error) {
	info, err := storage.Stat(path)
	if err != nil {
		return nil, "", err
	}
	if !info.IsDir() {
		return []string{path}, filepath.Dir(path), nil
	}
	if err := checkManaged(path); err != nil {
		return nil, "", err
	}
	entries, err := storage.ReadDir(path)
	if err != nil {
		return nil, "", err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".parquet") && name[0] != '.' && name[0] != '_' && !isFolder(path, e) {
			files = append(files, filepath.Join(path, name))
		}
	}
	if len(files) == 0 {
		return nil, "", &dataerror.Error{File: path, Msg: "the folder has no .parquet file"}
	}
	return files, path, nil
}

// isFolder reports whether an entry of a folder is a folder, or a link to one.
func isFolder(path string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := storage.Stat(filepath.Join(path, e.Name()))
	return err == nil && info.IsDir()
}

// InColumn turns an error about the content of a file into a *dataerror.Error and returns other errors unchanged.
// column may be "".
func InColumn(column string, err error) error {
	var content *Error
	if errors.As(err, &content) {
		return &dataerror.Error{Column: column, Err: err}
	}
	return err
}
