package tablefile

import (
	"fmt"
	"path/filepath"
	"slices"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// once leaves out files behind a link to a folder, such as "latest", that are in the list by their own path too. Two such
// links to one other file are an error, since its rows would count twice. Links that are files stay.
func once(folder storage.Location, files []storage.Location) ([]storage.Location, error) {
	if folder.IsRemote() {
		return files, nil
	}
	places, own, behind := make(realFolders), make(map[string]bool), make(map[string]string)
	root := places.of(folder.Path())
	isOwn := func(file storage.Location) bool {
		name, ok := folder.Rel(file)
		return ok && places.file(file) == filepath.Join(root, filepath.FromSlash(name))
	}
	for _, file := range files {
		if isOwn(file) {
			own[places.file(file)] = true
		}
	}
	files = slices.DeleteFunc(files, func(file storage.Location) bool { return own[places.file(file)] && !isOwn(file) })
	for _, file := range files {
		if first, twice := behind[places.file(file)]; twice {
			return nil, &dataerror.Error{File: folder.String(), Msg: fmt.Sprintf("%s and %s are one file, by links to its folder; remove one of the links, or choose one with paths",
				textfile.Quoted(first), textfile.Quoted(file.String()))}
		}
		behind[places.file(file)] = file.String()
	}
	return files, nil
}

// realFolders are paths of folders without links, by their paths with links.
type realFolders map[string]string

// of returns a folder's path without links; that with them if it cannot be found, which is said where a file is opened.
func (r realFolders) of(folder string) string {
	real, ok := r[folder]
	if !ok {
		var err error
		if real, err = filepath.EvalSymlinks(folder); err != nil {
			real = folder
		}
		r[folder] = real
	}
	return real
}

// file is the path of a file, which may be a link itself, in its real folder.
func (r realFolders) file(file storage.Location) string {
	return filepath.Join(r.of(file.Dir().Path()), file.Base())
}
