package docs_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	purpose   = regexp.MustCompile(`\A# [^\n]+\n\n(\w[^\n]*(?:\n[^\n]+)*)\n\n`) // the paragraph below the title
	sentence  = regexp.MustCompile(`[.!?](?:\s|$)`)
	addressed = regexp.MustCompile(`(?i)\byou(?:r|rs)?\b`)
)

// purposeOf returns what a page says before anything else, and why that is not what a page must begin with: after its title,
// one to three short sentences that tell the reader what one can do after reading it.
func purposeOf(page string) (text, problem string) {
	m := purpose.FindStringSubmatch(page)
	if m == nil {
		return "", "no paragraph follows the title"
	}
	text = m[1]
	switch n := len(sentence.FindAllString(text, -1)); {
	case n < 1 || n > 3 || len(strings.Fields(text)) > 60:
		return text, "the first paragraph is longer than three short sentences"
	case !addressed.MatchString(text):
		return text, "the first paragraph does not tell you what you can do after reading the page"
	}
	return text, ""
}

// TestPagesBegin: every page begins with what one can do after reading it, and no two pages with the same.
func TestPagesBegin(t *testing.T) {
	begun := map[string]string{}
	for _, name := range pages(t) {
		text, problem := purposeOf(read(t, name))
		if problem != "" {
			t.Errorf("%s: %s", name, problem)
		} else if other := begun[text]; other != "" {
			t.Errorf("%s begins as %s does", name, other)
		}
		begun[text] = name
	}
}

func TestPurposeOf(t *testing.T) {
	for page, good := range map[string]bool{
		"# A\n\nYou can do b.\n\nMore.\n":                true,
		"# A\n\nHere is what\nyour c does.\n\n":          true,
		"# A\n\n## B\n\nYou can.\n\n":                    false,
		"# A\n\n| you | can. |\n|---|---|\n\n":           false,
		"# A\n\n```\nyou can.\n```\n\n":                  false,
		"# A\n\n- You can.\n\n":                          false,
		"# A\n\nIt does b.\n\n":                          false,
		"# A\n\nYou. Can. Do. More.\n\n":                 false,
		"# A\nYou can.\n\n":                              false,
		"\nYou can.\n\n":                                 false,
		"# A\n\n" + strings.Repeat("You ", 61) + ".\n\n": false,
	} {
		if text, problem := purposeOf(page); (problem == "") != good {
			t.Errorf("%q: %q, %q", page, text, problem)
		}
	}
}

// TestReadmeNamesEveryPage: the table of documents in the README is the menu of the site, so a page that it leaves out is lost.
func TestReadmeNamesEveryPage(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "../README.md"), "\n## Documents\n")
	for _, name := range pages(t) {
		if !strings.Contains(table, "(docs/"+name+")") {
			t.Errorf("the table of documents in README.md does not name docs/%s", name)
		}
	}
}

// pages lists the pages of this folder and of those below.
func pages(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < 50 {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	return names
}
