// Notebook writes pages as notebooks of Jupyter beside them: notebook PAGE...
package main

import (
	"fmt"
	"os"
	"strings"

	"pipe/internal/atomicfile"
	"pipe/tools/notebook/page"
)

func main() {
	for _, name := range os.Args[1:] {
		if err := write(name); err != nil {
			fmt.Fprintf(os.Stderr, "notebook: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func write(name string) error {
	base, isPage := strings.CutSuffix(name, ".md")
	if !isPage {
		return fmt.Errorf("its name does not end in .md")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	parts, err := page.Parse(string(text))
	if err != nil {
		return err
	}
	notebook, err := page.Notebook(parts)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(base+".ipynb", notebook)
}
