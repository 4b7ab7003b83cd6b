package config

import (
	"context"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"

	"pipe/internal/outside"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Texts are the values of a configuration file, nil if the file is invalid: the stage that reads it reports why. A
// named pipe is not read, because it can be read only once and the stage needs it.
func Texts(ctx context.Context, path storage.Location) []string {
	info, err := path.Stat(ctx)
	if err != nil || !info.Mode().IsRegular() || info.Size() > textfile.MaxYAML {
		return nil
	}
	text, err := readFile(ctx, path)
	if err != nil {
		return nil
	}
	list, _ := outside.Read(func() ([]string, error) {
		var root yaml.Node
		if err := yaml.Load(text, &root); err != nil || len(expandNode(&root, os.LookupEnv)) > 0 {
			return nil, err
		}
		return texts(&root, nil), nil
	})
	return list
}

// texts are the values of a configuration that could be names of files.
func texts(n *yaml.Node, list []string) []string {
	if n.Kind == yaml.ScalarNode && n.Value != "" && !strings.Contains(n.Value, "\n") {
		list = append(list, n.Value)
	}
	for _, child := range n.Content {
		list = texts(child, list)
	}
	return list
}
