// Package archive writes the program with its runtime library as a .tar.gz that runs where it is unpacked.
package archive

import (
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"time"

	"pipe/tools/dist/tree"
)

// Input is what an archive is made of.
type Input struct {
	Folder  string      // that it unpacks to
	Program string      // name of the program in it
	Binary  string      // path of the program
	Library string      // path of ONNX Runtime, which is put beside the program
	Texts   []string    // paths of licences and notices
	Share   []tree.File // below the folder share
	Time    time.Time
}

// Write writes an archive.
func Write(w io.Writer, in Input) error {
	files := []tree.File{
		{Name: path.Join(in.Folder, in.Program), Mode: 0o755, From: in.Binary},
		{Name: path.Join(in.Folder, filepath.Base(in.Library)), Mode: 0o755, From: in.Library},
	}
	for _, text := range in.Texts {
		files = append(files, tree.File{Name: path.Join(in.Folder, filepath.Base(text)), Mode: 0o644, From: text})
	}
	for _, f := range in.Share {
		f.Name = path.Join(in.Folder, "share", f.Name)
		files = append(files, f)
	}
	z := gzip.NewWriter(w)
	if err := tree.Write(z, files, in.Time); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return z.Close()
}
