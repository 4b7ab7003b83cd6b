package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"pipe/internal/atomicfile"
	"pipe/tools/dist/tree"
)

// share are the manual pages and the completions of shells, as the program writes them, by their places below a folder share. The
// program has to run here: binary, or one that is compiled for this machine.
func (d *dist) share(ctx context.Context, binary string) (files []tree.File, err error) {
	if binary == "" {
		if binary, err = d.program(ctx, target{runtime.GOOS, runtime.GOARCH}, ""); err != nil {
			return nil, err
		}
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	pages := filepath.Join(d.work, "man")
	if err := os.RemoveAll(pages); err != nil {
		return nil, err
	}
	if err := do(ctx, ".", nil, binary, "man", pages); err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(pages, "*.1"))
	if err == nil && len(found) == 0 {
		err = errors.New("the program wrote no manual pages")
	}
	if err != nil {
		return nil, err
	}
	for _, page := range found {
		files = append(files, tree.File{Name: "man/man1/" + filepath.Base(page), Mode: 0o644, From: page})
	}
	for shell, place := range map[string]string{
		"bash": "bash-completion/completions/pipe", "zsh": "zsh/vendor-completions/_pipe", "fish": "fish/vendor_completions.d/pipe.fish",
	} {
		text, err := output(ctx, binary, "completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files, tree.File{Name: place, Mode: 0o644, Data: []byte(text + "\n")})
	}
	return files, nil
}

// notices writes the licences of Go and of all modules that a program links, and returns the path of that file.
func (d *dist) notices(ctx context.Context, t target, binary string) (string, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", err
	}
	folders, err := output(ctx, "go", "env", "GOROOT", "GOMODCACHE")
	if err != nil {
		return "", err
	}
	goroot, modules, _ := strings.Cut(folders, "\n")
	var text bytes.Buffer
	if err := addNotices(&text, "Go "+info.GoVersion, goroot); err != nil {
		return "", err
	}
	for _, m := range info.Deps {
		if m.Sum == "" {
			continue // a module of this repository
		}
		if err := addNotices(&text, m.Path+" "+m.Version, filepath.Join(modules, escaped(m.Path)+"@"+escaped(m.Version))); err != nil {
			return "", err
		}
	}
	path := filepath.Join(d.work, t.String(), filepath.Base(binary)+"-notices", "NOTICES") // its base is the name in packages
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, atomicfile.WriteFile(path, text.Bytes())
}

// escaped is a path or version as the cache of modules spells it: an exclamation mark and a small letter for a capital one.
func escaped(path string) string {
	return capital.ReplaceAllStringFunc(path, func(c string) string { return "!" + strings.ToLower(c) })
}

var capital = regexp.MustCompile("[A-Z]")

// addNotices appends the licences and notices in the folder of a module.
func addNotices(w *bytes.Buffer, name, dir string) error {
	var found []string
	for _, pattern := range []string{"LICEN[CS]E*", "COPYING*", "NOTICE*", "License*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		found = append(found, paths...)
	}
	slices.Sort(found)
	if len(found) == 0 {
		return fmt.Errorf("%s has no file with its licence", name)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "==== %s: %s\n\n%s\n\n", name, filepath.Base(path), bytes.TrimSpace(text))
	}
	return nil
}
