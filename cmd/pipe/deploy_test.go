package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestDeploy: the commands of the manifests and units in deploy/ exist and have their flags. Containers leave the program to the image,
// whose entry point it is.
func TestDeploy(t *testing.T) {
	tested := 0
	command := func(file string, args []string) {
		tested++
		c, flags, err := newRoot(newApp(strings.NewReader(""), io.Discard, io.Discard)).Find(args)
		if err == nil && !c.HasParent() {
			err = errors.New("no command")
		}
		if err == nil {
			err = c.ParseFlags(flags)
		}
		if err != nil {
			t.Errorf("%s: %q: %v", file, args, err)
		}
	}
	for file, text := range files(t, "../../deploy/kubernetes/*.yaml") {
		for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var document any
			err := documents.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(file, err)
			}
			containers(document, func(c map[string]any) {
				if c["command"] != nil {
					t.Errorf("%s: the container %v replaces the entry point of the image", file, c["name"])
				}
				command(file, words(c["args"]))
			})
		}
	}
	for file, text := range files(t, "../../deploy/*.service") {
		for line := range strings.Lines(string(text)) {
			if key, value, _ := strings.Cut(line, "="); key == "ExecStart" || key == "ExecStartPre" {
				program := strings.Fields(value)
				if program[0] != "/usr/bin/pipe" { // where the Debian package has it
					t.Errorf("%s: it starts %s", file, program[0])
				}
				command(file, program[1:])
			}
		}
	}
	if tested < 7 {
		t.Errorf("only %d commands", tested)
	}
}

// files reads the files of a pattern.
func files(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, p := range paths {
		if out[p], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// containers calls visit with all that has an image.
func containers(node any, visit func(map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		if node["image"] != nil {
			visit(node)
		}
		for _, v := range node {
			containers(v, visit)
		}
	case []any:
		for _, v := range node {
			containers(v, visit)
		}
	}
}

func words(list any) (out []string) {
	if list, ok := list.([]any); ok {
		for _, w := range list {
			out = append(out, fmt.Sprint(w))
		}
	}
	return out
}
