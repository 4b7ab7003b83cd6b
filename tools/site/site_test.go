// Package site_test builds the site of the repository's pages and looks at it.
package site_test

import (
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the repository.
var root = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// needGenerator skips the test if Hugo was not fetched, or fails if CI=true.
func needGenerator(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the site")
	}
	if _, err := os.Stat(filepath.Join(root, "third_party/site/fetched.json")); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no Hugo: run go run ./tools/fetch site")
	}
	t.Skip("no Hugo: go run ./tools/fetch site fetches it")
}

// build makes the site of the repository in repo, and returns its folder and what was printed.
func build(t *testing.T, repo string) (site, printed string, err error) {
	t.Helper()
	site = filepath.Join(t.TempDir(), "site")
	out, err := exec.CommandContext(t.Context(), filepath.Join(repo, "tools/site/build.sh"), site).CombinedOutput()
	return site, string(out), err
}

// files returns what every file below dir holds, by its path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSite: the site has every page, no link of it is dead, and it has the same bytes when it is built again.
func TestSite(t *testing.T) {
	needGenerator(t)
	site, printed, err := build(t, root)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	all := files(t, site)
	for _, problem := range deadLinks(all) {
		t.Error(problem)
	}
	for name := range files(t, filepath.Join(root, "docs")) {
		page := "docs/" + strings.TrimSuffix(name, ".md") + ".html"
		if strings.HasSuffix(name, ".md") && !strings.Contains(all[page], "<h1 ") {
			t.Errorf("the site has no page %s with a title", page)
		}
	}
	again, printed, err := build(t, root)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if second := files(t, again); !maps.Equal(all, second) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if all[name] != second[name] {
				t.Errorf("%s differs when it is built again", name)
			}
		}
	}
	t.Run("in Chromium", func(t *testing.T) { lookAt(t, site, all) })
}

var (
	linked = regexp.MustCompile(`\s(?:href|src)="([^"]*)"`)
	marked = regexp.MustCompile(`\sid="([^"]*)"`)
)

// deadLinks lists the links of a site's pages that lead to no file or to no section. It knows nothing of how the site was made.
func deadLinks(site map[string]string) (dead []string) {
	sections := map[string]bool{}
	for name, text := range site {
		for _, m := range marked.FindAllStringSubmatch(text, -1) {
			sections[name+"#"+m[1]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(site)) {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range linked.FindAllStringSubmatch(site[name], -1) {
			link, err := url.Parse(m[1])
			if err == nil && link.IsAbs() {
				continue
			}
			if err != nil || strings.HasPrefix(link.Path, "/") {
				dead = append(dead, fmt.Sprintf("%s: %s is no relative link", name, m[1]))
				continue
			}
			file := name
			if link.Path != "" {
				file = path.Join(path.Dir(name), link.Path)
			}
			_, known := site[file]
			if !known || link.Fragment != "" && !sections[file+"#"+link.Fragment] {
				dead = append(dead, fmt.Sprintf("%s: %s leads nowhere", name, m[1]))
			}
		}
	}
	return dead
}

func TestDeadLinks(t *testing.T) {
	site := map[string]string{
		"a.html":   `<a href="b/c.html#two"></a> <a href="#one"></a> <p id="one"><a href="https://example.org/x#y"></a> <a href="/d.html"></a> <a href="b/c.html#one"></a>`,
		"b/c.html": `<p id="two"> <a href="../a.html#one"></a> <img src="../d.html">`,
	}
	want := []string{"a.html: /d.html is no relative link", "a.html: b/c.html#one leads nowhere", "b/c.html: ../d.html leads nowhere"}
	if got := deadLinks(site); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestBuildRefuses: a link to a page, a section or a file that is not there ends the build, and the message names page and
// link. So does a page without a title.
func TestBuildRefuses(t *testing.T) {
	needGenerator(t)
	for name, c := range map[string]struct{ page, message string }{
		"nothing":          {"# A\n\n[b](../README.md#b), [c](#a), [d](#d), [e](tutorial/x.py)\n\n![f](tutorial/x.py)\n\n## D\n", ""},
		"a dead page":      {"# A\n\n[b](b.md)\n", "/docs/a.md: the link b.md leads to no file"},
		"a dead section":   {"# A\n\n[b](../README.md#c)\n", "/docs/a.md: the link ../README.md#c leads to no section"},
		"no such heading":  {"# A\n\n[b](#b)\n", "/docs/a.md: the link #b leads to no section"},
		"a dead file":      {"# A\n\n[b](tutorial/y.py)\n", "/docs/a.md: the link tutorial/y.py leads to no file"},
		"a file's section": {"# A\n\n[b](tutorial/x.py#a)\n", "/docs/a.md: the link tutorial/x.py#a leads to no section"},
		"a dead picture":   {"# A\n\n![b](b.svg)\n", "/docs/a.md: the picture b.svg is no file"},
		"no title":         {"## A\n", "docs/a.md does not begin with a title"},
	} {
		t.Run(name, func(t *testing.T) {
			_, printed, err := build(t, small(t, c.page))
			if c.message == "" && err != nil || c.message != "" && (err == nil || !strings.Contains(printed, c.message)) {
				t.Errorf("%v: want %q\n%s", err, c.message, printed)
			}
		})
	}
}

// small makes a repository with few pages, of which docs/a.md is given.
func small(t *testing.T, page string) string {
	t.Helper()
	repo := t.TempDir()
	if err := os.CopyFS(filepath.Join(repo, "tools/site"), os.DirFS(filepath.Join(root, "tools/site"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "third_party"), filepath.Join(repo, "third_party")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"README.md":          "# R\n\n## B\n\n## Documents\n\n| topic | pages |\n|---|---|\n| t | [a](docs/a.md) |\n",
		"ARCHITECTURE.md":    "# A\n",
		"CHANGELOG.md":       "# C\n",
		"examples/README.md": "# E\n",
		"docs/tutorial/x.py": "x\n",
		"docs/a.md":          page,
	} {
		file := filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return repo
}
