package advice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/dataerror"
	"pipe/internal/outside"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// template is a prompt with a placeholder for the name of a class, as read from
// a file of templates.
type template struct {
	text string
	line int
}

// readTemplates reads the templates of a file: a list in a .json or .yaml file, or the non-empty lines of any other
// file. Each template has the placeholder once. Duplicates are errors. Errors name the line.
func readTemplates(ctx context.Context, path storage.Location) ([]string, error) {
	b, err := textfile.ReadFileAt(ctx, path, textfile.MaxConfig)
	if err != nil {
		return nil, fmt.Errorf("read templates: %w", dataerror.FromText(err))
	}
	read := templatesOfLines
	switch strings.ToLower(path.Ext()) {
	case ".json", ".yaml", ".yml":
		read = templatesOfList
	}
	if !utf8.Valid(b) {
		return nil, &costs.DataError{File: path.String(), Msg: "is not UTF-8 text"}
	}
	list, err := read(bytes.TrimPrefix(b, []byte("\ufeff")))
	if err != nil {
		return nil, &costs.DataError{File: path.String(), Err: err}
	}
	texts := make([]string, 0, len(list))
	for _, t := range list {
		if msg := t.fault(texts); msg != "" {
			return nil, &costs.DataError{File: path.String(), Row: t.line, Msg: fmt.Sprintf("template %q %s", textfile.Short(t.text), msg)}
		}
		texts = append(texts, t.text)
	}
	if len(texts) == 0 {
		return nil, &costs.DataError{File: path.String(), Msg: "has no templates"}
	}
	return texts, nil
}

// fault describes what is wrong with a template, given the earlier ones; "" is nothing.
func (t template) fault(before []string) string {
	switch n := strings.Count(t.text, part.Placeholder); {
	case n != 1:
		return fmt.Sprintf("has %d placeholders for the name of a class (%s), not one", n, part.Placeholder)
	case slices.Contains(before, t.text):
		return "is a duplicate"
	}
	return ""
}

func templatesOfLines(b []byte) ([]template, error) {
	var list []template
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		if text := strings.TrimSpace(line); text != "" {
			list = append(list, template{text, n})
		}
	}
	return list, nil
}

// templatesOfList reads YAML, of which JSON is a subset.
func templatesOfList(b []byte) ([]template, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, nil
	}
	var root yaml.Node
	if err := outside.Check(func() error { return yaml.Load(b, &root) }); err != nil {
		return nil, err
	}
	if len(root.Content) != 1 || root.Content[0].Kind != yaml.SequenceNode {
		return nil, errors.New("expected a list of templates")
	}
	var list []template
	for i, n := range root.Content[0].Content {
		if n.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: element %d of the list is not a string; quote it", n.Line, i+1)
		}
		list = append(list, template{n.Value, n.Line})
	}
	return list, nil
}
