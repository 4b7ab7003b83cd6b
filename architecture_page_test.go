package pipe_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pageRow is a row of the table of folders in ARCHITECTURE.md.
type pageRow struct {
	folder    string
	mayImport []string // the folders that it names
	allAbove  bool     // it says "all above" instead: any folder of an earlier row
}

// TestPageHasTheImportTable compares the table of folders in ARCHITECTURE.md with mayImport. A folder may only import
// those of earlier rows.
func TestPageHasTheImportTable(t *testing.T) {
	var above []string
	for _, row := range pageRows(t) {
		arrows, known := mayImport[row.folder]
		if !known || !onPage(row.folder) {
			t.Errorf("ARCHITECTURE.md has a row for %s, which is not one of the packages that it is about", row.folder)
		}
		arrows = slices.DeleteFunc(slices.Clone(arrows), func(f string) bool { return !onPage(f) })
		slices.Sort(arrows)
		if !row.allAbove && !slices.Equal(row.mayImport, arrows) {
			t.Errorf("ARCHITECTURE.md: %s may import %s; the test says %s", row.folder, strings.Join(row.mayImport, ", "), strings.Join(arrows, ", "))
		}
		for _, f := range arrows {
			if !slices.Contains(above, f) {
				t.Errorf("ARCHITECTURE.md: %s may import %s, which has no row above", row.folder, f)
			}
		}
		above = append(above, row.folder)
	}
	for folder := range mayImport {
		if onPage(folder) && !slices.Contains(above, folder) {
			t.Errorf("ARCHITECTURE.md has no row for %s", folder)
		}
	}
}

// onPage reports whether the page is about a package: not about internal ones, those for tests, examples, and tools.
func onPage(folder string) bool {
	parts := strings.Split(folder, "/")
	aside := []string{".", "docs", "examples", "tools"}
	return !slices.Contains(parts, "internal") && !slices.Contains(aside, parts[0]) && !strings.HasSuffix(folder, "test")
}

// pageRows reads the table of folders.
func pageRows(t *testing.T) (rows []pageRow) {
	t.Helper()
	page, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Folders\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*\\| ([^|]+) \\|$").FindAllStringSubmatch(section, -1) {
		row := pageRow{folder: m[1]}
		switch m[2] {
		case "-":
		case "all above":
			row.allAbove = true
		default:
			row.mayImport = strings.Split(m[2], ", ")
		}
		rows = append(rows, row)
	}
	return rows
}
