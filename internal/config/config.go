package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"

	"pipe/internal/outside"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Validator is implemented by configurations that can check themselves. Validate returns every problem it finds
// (errors.Join), not only the first.
type Validator interface{ Validate() error }

// Error lists all problems of one configuration file.
type Error struct {
	File     string   // the path as the caller gave it
	Problems []string // one line each; with a line number if the YAML has one
}

func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return fmt.Sprintf("read config %q: %s", e.File, e.Problems[0])
	}
	return fmt.Sprintf("read config %q: %d problems:\n  %s", e.File, len(e.Problems), strings.Join(e.Problems, "\n  "))
}

// Load reads the YAML file at path into dst, a pointer to a struct that already holds the defaults.
//
// ${VAR} and ${VAR:-default} in values are replaced by environment variables, and $${ by ${; a variable that is unset
// and has no default is a problem. Unknown and duplicate keys, keys without a value and values of the wrong type are
// problems. If dst is a Validator, Validate is called last. All problems of a step are returned together in one *Error.
// If the file cannot be read, the error is the operating system's.
func Load(ctx context.Context, path storage.Location, dst any) error {
	f, err := Open(ctx, path)
	if err != nil {
		return err
	}
	return f.Load(dst)
}

// File is a configuration file that was read, for programs that need its values more than once.
type File struct {
	path string
	text []byte
	dir  storage.Location
}

// Open reads a file, but does not look at what it says. Its errors are those of Load.
func Open(ctx context.Context, path storage.Location) (*File, error) {
	text, err := readFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	if len(text) > textfile.MaxYAML {
		return nil, &Error{File: path.String(), Problems: []string{fmt.Sprintf("the file is longer than %d MiB", textfile.MaxYAML>>20)}}
	}
	dir, err := path.Dir().Abs()
	if err != nil {
		return nil, fmt.Errorf("read config %q: %w", path, err)
	}
	return &File{path.String(), text, dir}, nil
}

// Load reads the file into dst, as the function Load does. Values that the file does not have stay as they are.
func (f *File) Load(dst any) error {
	_, err := f.LoadHiding(dst)
	return err
}

// LoadHiding is Load for configurations that are validated later. hide replaces values of variables in problems by the text of
// the file, as Decode does.
func (f *File) LoadHiding(dst any) (hide func(problems []string) []string, err error) {
	hidden := replaced{}
	problems, err := outside.Read(func() ([]string, error) { return hidden.hide(decode(f.text, f.dir, os.LookupEnv, dst, hidden)), nil })
	if err != nil {
		problems = []string{err.Error()}
	}
	if len(problems) > 0 {
		return hidden.hide, &Error{File: f.path, Problems: problems}
	}
	return hidden.hide, nil
}

// readFile reads a file, up to one byte more than its limit.
func readFile(ctx context.Context, path storage.Location) (_ []byte, err error) {
	f, err := path.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, textfile.MaxYAML+1))
}

// Decode is Load for bytes; relative paths are relative to dir. No problem shows the value of a variable, which may be a
// secret in the wrong place: the text of the file is shown instead.
func Decode(text []byte, dir storage.Location, env func(string) (string, bool), dst any) []string {
	hidden := replaced{}
	return hidden.hide(decode(text, dir, env, dst, hidden))
}

func decode(text []byte, dir storage.Location, env func(string) (string, bool), dst any, hidden replaced) []string {
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return libraryProblems(err)
	}
	defer hidden.keep(&root)()
	if problems := expandNode(&root, env); len(problems) > 0 {
		return problems
	}
	check := checker{seen: make(map[checked]bool)}
	for _, n := range root.Content {
		check.check(n, reflect.TypeOf(dst).Elem(), "")
	}
	if len(check.problems) > 0 {
		return check.problems
	}
	if err := root.Load(dst, yaml.WithKnownFields()); err != nil {
		return libraryProblems(err)
	}
	resolvePaths(reflect.ValueOf(dst), dir)
	if v, ok := dst.(Validator); ok {
		if err := v.Validate(); err != nil {
			return Lines(err)
		}
	}
	return nil
}
