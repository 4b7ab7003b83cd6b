// Package debian writes the program with its runtime library as a package of Debian.
package debian

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pipe/tools/dist/tree"
)

// Input is what a package is made of.
type Input struct {
	Version string      // a semantic version
	Arch    string      // as Go names it
	Binary  string      // path of the program
	Library string      // path of ONNX Runtime
	Texts   []string    // paths of licences and notices; LICENSE becomes copyright
	Share   []tree.File // below /usr/share
	Time    time.Time
}

// Name of the package. Debian has a package pipe-viewer and functions called pipe, but no package of this name.
const Name = "pipe-defer"

// Version spells a semantic version as Debian does: 1.2.3-rc.1 comes before 1.2.3.
func Version(semantic string) string { return strings.ReplaceAll(semantic, "-", "~") }

// Files are the files of the package by their place in the system.
func Files(in Input) []tree.File {
	files := []tree.File{
		{Name: "usr/bin/pipe", Mode: 0o755, From: in.Binary},
		{Name: "usr/lib/pipe/" + filepath.Base(in.Library), Mode: 0o644, From: in.Library},
	}
	for _, text := range in.Texts {
		name := filepath.Base(text)
		if name == "LICENSE" {
			name = "copyright"
		}
		files = append(files, tree.File{Name: "usr/share/doc/" + Name + "/" + name, Mode: 0o644, From: text})
	}
	for _, f := range in.Share {
		f.Name = "usr/share/" + f.Name
		files = append(files, f)
	}
	return files
}

// control is what dpkg shows of a package. The libraries are those of the systems that ONNX Runtime is built for.
func control(in Input, kilobytes int64) string {
	return fmt.Sprintf(`Package: %s
Version: %s
Architecture: %s
Maintainer: The authors of pipe <pipe@localhost>
Installed-Size: %d
Depends: libc6 (>= 2.28), libstdc++6 (>= 8), libgcc-s1 | libgcc1
Recommends: ca-certificates
Section: science
Priority: optional
Description: learn who should answer a request and what they should be shown
 For every input, pipe picks a pair with the smallest expected cost: an expert (a
 model, a service, a person) and a piece of advice for it. It learns that from a
 log of answers, and serves its decisions over HTTP and gRPC.
`, Name, Version(in.Version), in.Arch, kilobytes)
}

// sums is the file md5sums, with which dpkg --verify compares what is installed.
func sums(files []tree.File) ([]byte, error) {
	var b bytes.Buffer
	for _, f := range files {
		content, err := f.Content()
		if err != nil {
			return nil, err
		}
		sum := md5.Sum(content)
		fmt.Fprintf(&b, "%s  %s\n", hex.EncodeToString(sum[:]), f.Name)
	}
	return b.Bytes(), nil
}

// Write writes a package: an ar archive with the version of the format, the control files and the files.
func Write(w io.Writer, in Input) error {
	files := Files(in)
	slices.SortFunc(files, func(a, b tree.File) int { return strings.Compare(a.Name, b.Name) })
	size, err := tree.Size(files)
	if err != nil {
		return fmt.Errorf("write Debian package: %w", err)
	}
	md5sums, err := sums(files)
	if err != nil {
		return fmt.Errorf("write Debian package: %w", err)
	}
	about, err := packed([]tree.File{
		{Name: "control", Mode: 0o644, Data: []byte(control(in, (size+1023)/1024))},
		{Name: "md5sums", Mode: 0o644, Data: md5sums},
	}, in.Time)
	if err != nil {
		return err
	}
	data, err := packed(files, in.Time)
	if err != nil {
		return fmt.Errorf("write Debian package: %w", err)
	}
	if _, err := io.WriteString(w, "!<arch>\n"); err != nil {
		return err
	}
	for _, m := range []struct {
		name    string
		content []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", about}, {"data.tar.gz", data}} {
		if err := member(w, m.name, m.content, in.Time); err != nil {
			return err
		}
	}
	return nil
}

func packed(files []tree.File, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := tree.Write(z, files, at); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

// member writes a member of an ar archive, which begins at an even place.
func member(w io.Writer, name string, content []byte, at time.Time) error {
	head := fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, at.Unix(), 0, 0, "100644", len(content))
	if len(content)%2 == 1 {
		content = append(content, '\n')
	}
	_, err := w.Write(append([]byte(head), content...))
	return err
}
