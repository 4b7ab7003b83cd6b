package advice

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// shownPrompts is what an advice with the given settings shows.
func shownPrompts(t testing.TB, dir string, settings map[string]any) ([]string, error) {
	t.Helper()
	s := (&part.Build{Dir: storage.File(dir), Inputs: make(part.Inputs)}).Setup(`advice "a"`)
	a, err := newPrompts(t.Context(), s, settings)
	if err != nil {
		return nil, err
	}
	shown, err := a.Show(t.Context(), make([]part.Instance, 2))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(shown[0].Prompts, shown[1].Prompts) {
		t.Errorf("two instances are shown %q and %q", shown[0].Prompts, shown[1].Prompts)
	}
	return shown[0].Prompts, nil
}

// TestPromptsOfEveryKindOfFile reads the same list from JSON, YAML and lines.
func TestPromptsOfEveryKindOfFile(t *testing.T) {
	dir := t.TempDir()
	parttest.Write(t, filepath.Join(dir, "t.json"), `["a {}.", "the \"{}\".", "{} as art"]`)
	parttest.Write(t, filepath.Join(dir, "t.yaml"), "- a {}.\n- 'the \"{}\".'\n- \"{} as art\"\n")
	parttest.Write(t, filepath.Join(dir, "t.txt"), "a {}.\n\n the \"{}\".\r\n{} as art")
	parttest.Write(t, filepath.Join(dir, "bom.txt"), "\ufeffa {}.\nthe \"{}\".\n{} as art\n")
	for _, name := range []string{"t.json", "t.yaml", "t.txt", "bom.txt"} {
		got, err := shownPrompts(t, dir, map[string]any{"templates": name, "count": 3, "first": []string{"{} as art"}})
		if want := []string{"{} as art", "a {}.", `the "{}".`}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

// TestPromptsNest draws what comes first and two counts of CLIP's own templates:
// the smaller family is the beginning of the larger one, and the whole list is
// an order of the file's.
func TestPromptsNest(t *testing.T) {
	file := filepath.Join(realdata.Folder(t, "imagenet"), "imagenet_templates.json")
	all, err := readTemplates(t.Context(), storage.File(file))
	if err != nil || len(all) != 80 {
		t.Fatalf("%d templates, %v", len(all), err)
	}
	rapid.Check(t, func(r *rapid.T) {
		first := rapid.Permutation(all).Draw(r, "first")[:rapid.IntRange(0, len(all)).Draw(r, "how many")]
		large := rapid.IntRange(1, len(all)).Draw(r, "large")
		small := rapid.IntRange(1, large).Draw(r, "small")
		family := func(count int) []string {
			got, err := shownPrompts(t, "", map[string]any{"templates": file, "first": first, "count": count})
			if err != nil || len(got) != count {
				r.Fatalf("%d templates, %v", len(got), err)
			}
			return got
		}
		if !slices.Equal(family(large)[:small], family(small)) {
			r.Errorf("%d templates are not the first of %d", small, large)
		}
		whole := family(len(all))
		if !slices.Equal(whole[:len(first)], first) {
			r.Errorf("first is %q", whole[:len(first)])
		}
		rest := whole[len(first):]
		if at := make([]int, len(rest)); !slices.IsSorted(positions(at, all, rest)) {
			r.Error("the others are not in the order of the file")
		}
		if slices.Sort(whole); !slices.Equal(whole, slices.Sorted(slices.Values(all))) {
			r.Error("the list is not that of the file")
		}
	})
}

// positions writes where the elements of some are in all.
func positions(dst []int, all, some []string) []int {
	for i, s := range some {
		dst[i] = slices.Index(all, s)
	}
	return dst
}

func TestBadPrompts(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		settings   map[string]any
		want       string
	}{
		"no file":          {"t.txt", "a {}", map[string]any{"count": 1}, "templates: not set"},
		"not there":        {"t.txt", "a {}", map[string]any{"count": 1, "templates": "u.txt"}, "read templates: "},
		"no count":         {"t.txt", "a {}\nthe {}", map[string]any{"templates": "t.txt"}, "count is 0, not 1 to 2, the templates of"},
		"too many":         {"t.txt", "a {}", map[string]any{"count": 2, "templates": "t.txt"}, "count is 2, not 1 to 1"},
		"unknown first":    {"t.txt", "a {}", map[string]any{"count": 1, "templates": "t.txt", "first": []string{"b {}"}}, `first: there is no template "b {}"`},
		"first twice":      {"t.txt", "a {}", map[string]any{"count": 1, "templates": "t.txt", "first": []string{"a {}", "a {}"}}, `first: "a {}" is a duplicate`},
		"no place":         {"t.txt", "a {}\n\na b", map[string]any{"count": 1, "templates": "t.txt"}, `row 3: template "a b" has 0 placeholders for the name of a class ({}), not one`},
		"two places":       {"t.json", "[\"a {}\",\n\"{} {}\"]", map[string]any{"count": 1, "templates": "t.json"}, `row 2: template "{} {}" has 2 placeholders`},
		"twice":            {"t.yml", "- a {}\n- a {}\n", map[string]any{"count": 1, "templates": "t.yml"}, `row 2: template "a {}" is a duplicate`},
		"no UTF-8":         {"t.txt", "a {}\n\xff {}", map[string]any{"count": 1, "templates": "t.txt"}, "is not UTF-8 text"},
		"no list":          {"t.json", `{"a": "b {}"}`, map[string]any{"count": 1, "templates": "t.json"}, "expected a list of templates"},
		"no text":          {"t.json", `["a {}", {}]`, map[string]any{"count": 1, "templates": "t.json"}, "line 1: element 2 of the list is not a string"},
		"broken":           {"t.json", `["a {}"`, map[string]any{"count": 1, "templates": "t.json"}, `t.json": `},
		"empty":            {"t.json", ` `, map[string]any{"count": 1, "templates": "t.json"}, "has no templates"},
		"empty list":       {"t.json", `[]`, map[string]any{"count": 1, "templates": "t.json"}, "has no templates"},
		"only empty lines": {"t.txt", "\n \n", map[string]any{"count": 1, "templates": "t.txt"}, "has no templates"},
		"unknown setting":  {"t.txt", "a {}", map[string]any{"top": 1}, `unknown key "top"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			parttest.Write(t, filepath.Join(dir, c.file), c.text)
			if _, err := shownPrompts(t, dir, c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A template may be longer than 64 KiB; what is wrong with one is said with its line.
func TestLongTemplates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "templates.txt")
	long := strings.Repeat("x", 1<<17)
	parttest.Write(t, path, "a {}\r\n\n"+long+" {}\nb {}")
	if list, err := readTemplates(t.Context(), storage.File(path)); err != nil || len(list) != 3 || list[1] != long+" {}" {
		t.Errorf("%d templates, %v", len(list), err)
	}
	parttest.Write(t, path, "a {}\n\n"+long+"\n")
	var bad *costs.DataError
	if _, err := readTemplates(t.Context(), storage.File(path)); !errors.As(err, &bad) || bad.Row != 3 || len(err.Error()) > 500 {
		t.Errorf("%.200v", err)
	}
}

// FuzzTemplates: whatever a file holds is an error, or distinct templates with one place each.
func FuzzTemplates(f *testing.F) {
	f.Add("t.json", `["a {}.", "the {}"]`)
	f.Add("t.yaml", "- &a x {}\n- *a\n- |\n  {}\n- {}\n")
	f.Add("t.txt", "a {}\n\x00{}\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		path := filepath.Join(t.TempDir(), "t"+filepath.Ext(filepath.Base(name)))
		if strings.ContainsAny(path, "\x00") || os.WriteFile(path, []byte(text), 0o666) != nil {
			t.Skip("no name of a file")
		}
		list, err := readTemplates(t.Context(), storage.File(path))
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%q, %v", list, err)
		}
		for i, s := range list {
			if strings.Count(s, part.Placeholder) != 1 || slices.Contains(list[:i], s) {
				t.Errorf("template %d of %q", i, list)
			}
		}
	})
}
