package docs_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/realdata"
	"pipe/onnx/ort/orttest"
	"pipe/tools/notebook/page"
)

// recipes are the pages that are notebooks, too.
var recipes = []string{"models", "retrieval", "disclosure"}

// notebookOf makes a notebook of a page.
func notebookOf(t *testing.T, markdown string) (parts []page.Part, notebook []byte) {
	t.Helper()
	parts, err := page.Parse(markdown)
	if err == nil {
		notebook, err = page.Notebook(parts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return parts, notebook
}

// TestNotebooks: the notebooks are made of the pages.
func TestNotebooks(t *testing.T) {
	for _, name := range recipes {
		path := filepath.Join("recipes", name)
		if _, want := notebookOf(t, read(t, path+".md")); read(t, path+".ipynb") != string(want) {
			t.Errorf("%s.ipynb is not made of the page: run make generate", path)
		}
	}
}

// execute runs the notebook nb.ipynb as Jupyter does, and prints what each cell of code printed.
const execute = `
import json, nbclient, nbformat, sys
nb = nbformat.read("nb.ipynb", as_version=4)
nbformat.validate(nb)
nbclient.NotebookClient(nb, timeout=300, resources={"metadata": {"path": "."}}).execute()
code = [c for c in nb.cells if c.cell_type == "code" and c.source.startswith("%%bash")]
json.dump(["".join(o.text for o in c.outputs if o.get("name") == "stdout") for c in code], open("printed.json", "w"))
`

// TestRecipes does what a reader of each recipe does, in its notebook, with a program that is built once.
func TestRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains and builds the program")
	}
	for _, name := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	python := judge.Python(t, "nbclient", "ipykernel")
	root, bin := realdata.Root(t), program(t)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, name := range recipes {
		t.Run(name, func(t *testing.T) {
			data := ""
			if name == "retrieval" {
				data = realdata.Folder(t, "outcomes", "mba-retrieval")
			}
			here := strings.NewReplacer("~/pipe", root, "$PIPE_DATA/outcomes/mba-retrieval", data, "127.0.0.1:8080", freeAddress(t))
			parts, notebook := notebookOf(t, here.Replace(read(t, filepath.Join("recipes", name+".md"))))
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "nb.ipynb"), notebook, 0o644); err != nil {
				t.Fatal(err)
			}
			judge.Run(t, python, dir, execute)
			var printed []string
			if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "printed.json"))), &printed); err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				if p.Commands == nil {
					continue
				}
				var shown []string
				for _, c := range p.Commands {
					shown = append(shown, c.Prints...)
				}
				if got := lines(printed[0]); !matches(got, shown) {
					t.Errorf("$ %s\nprinted:\n%s\n\nthe page has:\n%s", p.Commands[0].Text, printed[0], strings.Join(shown, "\n"))
				}
				printed = printed[1:]
			}
			if len(printed) > 0 {
				t.Errorf("%d cells more than the page has", len(printed))
			}
		})
	}
}

// program builds pipe into a folder, which it returns. Programs that the test starts find the runtime library of the test.
func program(t *testing.T) string {
	t.Helper()
	t.Setenv("ONNXRUNTIME_LIB", filepath.Dir(orttest.Open(t, 1).Library()))
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-C", realdata.Root(t), "-o", folder, "./cmd/pipe")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder
}

// freeAddress returns an address of this machine on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
