package tablefile

import (
	"errors"
	"fmt"

	"pipe/internal/parquetfile"
)

// columnNames returns the columns of a Parquet file, and behind each struct the paths to its fields: their names,
// joined by dots. A column wins over a path of the same name.
func columnNames(root *parquetfile.Column) ([]string, error) {
	top := make(map[string]bool, len(root.Children))
	for _, c := range root.Children {
		top[c.Name] = true
	}
	var names []string
	bytes := 0
	var add func(prefix string, group *parquetfile.Column) error
	add = func(prefix string, group *parquetfile.Column) error {
		for _, field := range group.Children {
			if field.Repeated { // of a list or a map
				continue
			}
			name := prefix + "." + field.Name
			if bytes += len(name); bytes > maxPathBytes {
				return fmt.Errorf("the names of its nested columns take more than %d MiB", maxPathBytes>>20)
			}
			if !top[name] {
				names = append(names, name)
			}
			if err := add(name, field); err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range root.Children {
		names = append(names, c.Name)
		if c.Repeated {
			continue
		}
		if err := add(c.Name, c); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// findColumn returns the column with this name, or the field of a struct with this path.
func findColumn(root *parquetfile.Column, name string) (*parquetfile.Column, error) {
	if c := root.Child(name); c != nil {
		return c, nil
	}
	found := fieldsAt(root, name)
	switch {
	case len(found) == 0:
		return nil, errors.New("is missing from this part")
	case len(found) > 1:
		return nil, errors.New("is the path to more than one field")
	}
	return found[0], nil
}

// fieldsAt returns the fields below a group whose names, joined by dots, are a path.
func fieldsAt(group *parquetfile.Column, path string) (found []*parquetfile.Column) {
	for _, c := range group.Children {
		n := len(c.Name)
		if c.Repeated || len(path) <= n || path[:n] != c.Name || path[n] != '.' {
			continue
		}
		for _, field := range c.Children {
			if !field.Repeated && field.Name == path[n+1:] {
				found = append(found, field)
			}
		}
		found = append(found, fieldsAt(c, path[n+1:])...)
	}
	return found
}
