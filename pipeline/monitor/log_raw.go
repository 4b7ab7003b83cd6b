package monitor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/pipeline/decide"
)

// rawColumns compute features of the columns of raw rows.
type rawColumns struct {
	router *decide.Router
	field  string           // the column with the text or the path of an image; empty: all columns that the router uses
	folder storage.Location // paths are relative to it
}

// choose returns the columns of a file to read. In the names of columns of a table, minus and underscore are equivalent.
func (c *rawColumns) choose(path string, have []string) ([]string, error) {
	if c.field != "" {
		if !slices.Contains(have, c.field) {
			return nil, &costs.DataError{File: path, Row: 1, Column: c.field, Msg: "is missing; the columns are " + textfile.Listed(have, 12)}
		}
		return []string{c.field}, nil
	}
	plain := func(name string) string { return strings.ReplaceAll(name, "-", "_") }
	var names []string
	for _, name := range have {
		if slices.ContainsFunc(c.router.Columns(), func(used string) bool { return plain(used) == plain(name) }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, &costs.DataError{File: path, Row: 1, Msg: fmt.Sprintf("has none of the columns that the policy uses: %s", textfile.Listed(c.router.Columns(), 12))}
	}
	return names, nil
}

// encode computes the features of rows with the chosen columns.
func (c *rawColumns) encode(ctx context.Context, names []string, rows [][]string) ([]float32, error) {
	if c.field == "" {
		list := make([]map[string]string, len(rows))
		for i, row := range rows {
			list[i] = make(map[string]string, len(row))
			for k, name := range names {
				list[i][name] = row[k]
			}
		}
		return c.router.EncodeRows(ctx, list)
	}
	values := make([]string, len(rows))
	for i, row := range rows {
		values[i] = row[0]
	}
	return c.router.Encode(ctx, c.folder, values)
}
