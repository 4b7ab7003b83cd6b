package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// unpack writes the files of archive that match a pattern into folder: shared libraries into lib, the rest beside it.
// Only base names are used, so an archive cannot write elsewhere. Every pattern must match. Programs stay executable.
func unpack(archive string, patterns []string, folder string, files map[string]file) error {
	each := eachTar
	if strings.HasSuffix(archive, ".whl") {
		each = eachZip
	}
	matched := map[string]bool{}
	err := each(archive, func(name string, program bool, content io.Reader) error {
		for _, p := range patterns {
			if ok, err := path.Match(p, name); err != nil {
				return err
			} else if ok {
				matched[p] = true
				return writeFile(folder, name, program, content, files)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range patterns {
		if !matched[p] {
			return fmt.Errorf("does not contain %s", p)
		}
	}
	return nil
}

func writeFile(folder, name string, program bool, content io.Reader, files map[string]file) error {
	base := path.Base(name)
	if isLibrary(base) {
		base, program = path.Join("lib", base), true
	}
	mode := os.FileMode(0o644)
	if program {
		mode = 0o755
	}
	f, err := os.OpenFile(filepath.Join(folder, base), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), content)
	files[base] = file{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}
	return errors.Join(err, f.Sync(), f.Close())
}

func isLibrary(base string) bool {
	return strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.") || strings.HasSuffix(base, ".dylib")
}

func isProgram(mode os.FileMode) bool { return mode&0o100 != 0 }

func eachZip(archive string, f func(name string, program bool, content io.Reader) error) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, member := range z.File {
		content, err := member.Open()
		if err != nil {
			return err
		}
		if err := errors.Join(f(member.Name, isProgram(member.Mode()), content), content.Close()); err != nil {
			return fmt.Errorf("%s: %w", member.Name, err)
		}
	}
	return nil
}

func eachTar(archive string, f func(name string, program bool, content io.Reader) error) error {
	packed, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer packed.Close()
	gz, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	for t := tar.NewReader(gz); ; {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := f(h.Name, isProgram(h.FileInfo().Mode()), t); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}
