package page

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// The parts of a file of Jupyter, format 4.5.
type (
	notebook struct {
		Cells    []any    `json:"cells"`
		Metadata metadata `json:"metadata"`
		Format   int      `json:"nbformat"`
		Minor    int      `json:"nbformat_minor"`
	}
	metadata struct {
		Kernel   kernel   `json:"kernelspec"`
		Language language `json:"language_info"`
	}
	kernel struct {
		Display  string `json:"display_name"`
		Language string `json:"language"`
		Name     string `json:"name"`
	}
	language struct {
		Name string `json:"name"`
	}
	cell struct {
		Kind     string   `json:"cell_type"`
		ID       string   `json:"id"`
		Metadata struct{} `json:"metadata"`
		Source   []string `json:"source"` // lines with their ends
	}
	codeCell struct {
		cell
		Count   *int     `json:"execution_count"`
		Outputs []output `json:"outputs"`
	}
	output struct {
		Kind string   `json:"output_type"`
		Name string   `json:"name"`
		Text []string `json:"text"`
	}
)

// Notebook is a page as a notebook of Jupyter: a file is a cell that writes it, and a console is a cell of bash, below which is what
// the page shows.
func Notebook(parts []Part) ([]byte, error) {
	n := notebook{Format: 4, Minor: 5}
	n.Metadata.Kernel = kernel{"Python 3", "python", "python3"}
	n.Metadata.Language.Name = "python"
	for i, p := range parts {
		c := cell{Kind: "code", ID: "part-" + strconv.Itoa(i)}
		switch {
		case p.Text != "":
			c.Kind, c.Source = "markdown", split(p.Text)
			n.Cells = append(n.Cells, c)
		case p.File != "":
			c.Source = split("%%writefile " + p.File + "\n" + p.Content)
			n.Cells = append(n.Cells, codeCell{cell: c, Outputs: []output{}})
		default:
			source, prints := "%%bash -e\n", []string{}
			for _, command := range p.Commands {
				source += command.Text + "\n"
				prints = append(prints, command.Prints...)
			}
			c.Source = split(source)
			outputs := []output{}
			if len(prints) > 0 {
				outputs = []output{{"stream", "stdout", split(strings.Join(prints, "\n") + "\n")}}
			}
			n.Cells = append(n.Cells, codeCell{cell: c, Outputs: outputs})
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(n)
	return out.Bytes(), err
}

// split returns lines with their ends. The last one of a cell has none.
func split(text string) (lines []string) {
	for line := range strings.Lines(strings.TrimSuffix(text, "\n")) {
		lines = append(lines, line)
	}
	return lines
}
