package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"pipe/tools/dist/debian"
	"pipe/tools/dist/tree"
)

// The names that Linux has for an architecture: of the folder of libraries, and the path of the loader, which every program names.
var linuxNames = map[string]struct{ folder, loader string }{
	"amd64": {"x86_64-linux-gnu", "lib64/ld-linux-x86-64.so.2"},
	"arm64": {"aarch64-linux-gnu", "lib/ld-linux-aarch64.so.1"},
}

// libraries are what the program and ONNX Runtime link.
var libraries = []string{"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libgcc_s.so.1", "libstdc++.so.6"}

// rootFiles are all files of an image.
func rootFiles(in debian.Input, debianRoot string) ([]tree.File, error) {
	names, known := linuxNames[in.Arch]
	if !known {
		return nil, fmt.Errorf("no names of Linux are known for %s", in.Arch)
	}
	in.Share = nil // there is no shell
	files := debian.Files(in)
	loader := filepath.Base(names.loader)
	files = append(files, tree.File{Name: names.loader, Mode: 0o755, From: filepath.Join(debianRoot, "lib", names.folder, loader)})
	for _, l := range libraries {
		from := filepath.Join(debianRoot, "lib", names.folder, l)
		if _, err := os.Stat(from); err != nil { // the C++ library is below usr
			from = filepath.Join(debianRoot, "usr", "lib", names.folder, l)
		}
		files = append(files, tree.File{Name: "lib/" + names.folder + "/" + l, Mode: 0o755, From: from})
	}
	for _, p := range []string{"libc6", "gcc-12-base", "ca-certificates"} { // gcc-12-base has the licences of libgcc-s1 and libstdc++6
		license := "usr/share/doc/" + p + "/copyright"
		files = append(files, tree.File{Name: license, Mode: 0o644, From: filepath.Join(debianRoot, license)})
	}
	certificates, err := bundle(filepath.Join(debianRoot, "usr/share/ca-certificates/mozilla"))
	return append(
		files,
		tree.File{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Data: certificates},
		tree.File{Name: "etc/passwd", Mode: 0o644, Data: []byte("root:x:0:0:root:/:/none\npipe:x:65532:65532:pipe:/tmp:/none\n")},
		tree.File{Name: "etc/group", Mode: 0o644, Data: []byte("root:x:0:\npipe:x:65532:\n")},
		tree.File{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		tree.File{Name: "data", Mode: fs.ModeDir | 0o755},
	), err
}

// bundle joins the certificates of a folder.
func bundle(folder string) ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.crt"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s has no certificates", folder)
	}
	var all bytes.Buffer
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		all.Write(bytes.TrimSpace(text))
		all.WriteByte('\n')
	}
	return all.Bytes(), err
}

// image writes an image, by the command of the module tools/dist/image.
func (d *dist) image(ctx context.Context, out, name string, in debian.Input, debianRoot string) error {
	files, err := rootFiles(in, debianRoot)
	if err != nil {
		return err
	}
	root := filepath.Join(d.work, "linux-"+in.Arch, "root.tar")
	if err := create(root, func(f io.Writer) error { return tree.Write(f, files, d.time) }); err != nil {
		return err
	}
	return do(ctx, filepath.Join("tools", "dist", "image"), []string{"GOWORK=off"}, "go", "run", ".", "-name", name, "-root", root, "-arch", in.Arch,
		"-version", d.version, "-time", strconv.FormatInt(d.time.Unix(), 10), "-out", out)
}
