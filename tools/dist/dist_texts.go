package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
		path := filepath.Join(d.work, shell+".completion")
		if err := atomicfile.WriteFile(path, []byte(text+"\n")); err != nil {
			return nil, err
		}
		files = append(files, tree.File{Name: place, Mode: 0o644, From: path})
	}
	return files, nil
}

// notices writes the licences of Go and of all modules that a program links, and returns the path of that file.
func (d *dist) notices(ctx context.Context, t target, binary string) (string, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", err
	}
	goroot, err := output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := addNotices(&text, "Go "+info.GoVersion, goroot); err != nil {
		return "", err
	}
	args := []string{"mod", "download", "-json"}
	for _, m := range info.Deps {
		if m.Sum != "" { // another is of this repository
			args = append(args, m.Path+"@"+m.Version)
		}
	}
	listed, err := output(ctx, "go", args...)
	if err != nil {
		return "", err
	}
	for list := json.NewDecoder(strings.NewReader(listed)); ; {
		var m struct{ Path, Version, Dir string }
		if err := list.Decode(&m); err == io.EOF {
			break
		} else if err != nil {
			return "", fmt.Errorf("go mod download: %w", err)
		}
		if err := addNotices(&text, m.Path+" "+m.Version, m.Dir); err != nil {
			return "", err
		}
	}
	path := filepath.Join(d.work, t.String(), filepath.Base(binary)+"-notices", "NOTICES") // its base is the name in packages
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, atomicfile.WriteFile(path, text.Bytes())
}

// addNotices appends the licences and notices in the folder of a module, or in one above it where it is part of a larger one.
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
