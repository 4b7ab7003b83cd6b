package serve

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/serve/people"
)

// page reads a page of the documentation.
func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// example is the YAML of docs/serve.md.
func example(t *testing.T) string {
	t.Helper()
	_, text, ok := strings.Cut(page(t, "serve.md"), "```yaml\n")
	text, _, end := strings.Cut(text, "```")
	if !ok || !end {
		t.Fatal("docs/serve.md has no YAML")
	}
	return text
}

// TestDocumentedConfiguration checks that the documented file is read, and that its values are the defaults where the page
// does not say that they are an example.
func TestDocumentedConfiguration(t *testing.T) {
	env := func(name string) (string, bool) { return "value-of-" + name, true }
	type unvalidated Config // no Validate
	read := func(text string) Config {
		t.Helper()
		c := unvalidated(DefaultConfig())
		if problems := config.Decode([]byte(text), storage.File(t.TempDir()), env, &c); problems != nil {
			t.Fatal(problems)
		}
		return Config(c)
	}
	c := read(example(t))
	c.Decision.Explore.Epsilon = 0.02
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	var defaults strings.Builder
	isExample := false // of the section whose lines are being read
	for line := range strings.Lines(example(t)) {
		if !strings.HasPrefix(line, " ") {
			isExample = false
		}
		if strings.Contains(line, "# example") {
			isExample = isExample || strings.HasSuffix(strings.TrimSpace(strings.Split(line, "#")[0]), ":")
			continue
		}
		if !isExample {
			defaults.WriteString(line)
		}
	}
	got, want := read(defaults.String()), DefaultConfig()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the values that are not examples are not the defaults:\n%+v\n%+v", got, want)
	}
}

// TestEveryKeyIsDocumented checks that the example of docs/serve.md has every key. The gateway has a page for its section.
func TestEveryKeyIsDocumented(t *testing.T) {
	text := example(t)
	for key := range keysOf(reflect.TypeFor[Config](), "") {
		if strings.HasPrefix(key, "gateway") {
			continue
		}
		name := key[strings.LastIndex(key, ".")+1:]
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
			t.Errorf("%s is not documented", key)
		}
	}
}

// keysOf are the keys below a type, with those of the sections in it.
func keysOf(of reflect.Type, within string) map[string]bool {
	all := map[string]bool{}
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return all
	}
	for i := range of.NumField() {
		name, option, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ",")
		switch {
		case strings.Contains(option, "inline"):
			maps.Copy(all, keysOf(of.Field(i).Type, within))
		case name != "" && name != "-":
			all[within+name] = true
			maps.Copy(all, keysOf(of.Field(i).Type, within+name+"."))
		}
	}
	return all
}

var (
	describedMetric = regexp.MustCompile(`fqName: "([^"]+)", help: "([^"]*)",(?: unit: "[^"]*",)? constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)
	documented      = regexp.MustCompile("(?m)^\\| `((?:pipe|nv)_[a-z_]+)` \\| ([^|]*) \\| ([^|]*) \\|$")
)

// TestEveryMetricIsDocumented compares the table of docs/serve.md with the collectors of a server that has every part.
func TestEveryMetricIsDocumented(t *testing.T) {
	r := start(t, func(c *Config) { c.Log.Folder = config.Path(t.TempDir()) }, nil)
	descriptions := make(chan *prometheus.Desc, 1000)
	r.registry.Describe(descriptions)
	monitorFigures{}.Describe(descriptions)
	candidateFigures{}.Describe(descriptions)
	(*people.People)(nil).Describe(descriptions)
	close(descriptions)
	want := map[string]string{}
	for d := range descriptions {
		m := describedMetric.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatal(d)
		}
		if strings.HasPrefix(m[1], "go_") || strings.HasPrefix(m[1], "process_") {
			continue
		}
		labels := m[4]
		if m[3] != "" {
			labels = strings.Split(m[3], "=")[0]
		}
		want[m[1]] = fmt.Sprintf("| `%s` | %s | %s |", m[1], strings.ReplaceAll(labels, ",", ", "), m[2])
	}
	got := map[string]string{}
	for _, m := range documented.FindAllStringSubmatch(page(t, "serve.md"), -1) {
		got[m[1]] = m[0]
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("docs/serve.md should have\n%s", want[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("docs/serve.md has %s, which the server has not", name)
	}
}
