package bench

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pipe/costs/outcome"
	"pipe/featurize/tabular"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/models/auto"
	"pipe/pipeline/costing"
	"pipe/pipeline/train"
)

// configFiles are the configuration files of all commands, and the page that
// describes each. The keys of the kinds of pipe costs are tested beside them.
func configFiles() map[string]struct {
	of   reflect.Type
	page string
} {
	type file = struct {
		of   reflect.Type
		page string
	}
	return map[string]file{
		"costs":     {reflect.TypeFor[costing.Config](), "costs-config.md"},
		"import":    {reflect.TypeFor[outcome.Config](), "import.md"},
		"featurize": {reflect.TypeFor[tabular.Schema](), "table.md"},
		"train":     {reflect.TypeFor[train.Settings](), "train.md"},
		"synthetic": {reflect.TypeFor[syntheticConfig](), "report.md"},
		"fraud":     {reflect.TypeFor[fraudConfig](), "fraud.md"},
		"fever":     {reflect.TypeFor[feverConfig](), "fever.md"},
		"imagenet":  {reflect.TypeFor[imagenetConfig](), "imagenet.md"},
		"tables":    {reflect.TypeFor[tablesConfig](), "report.md"},
	}
}

// configKey is one key of a configuration file, however deep.
type configKey struct {
	name string
	of   reflect.Type
	yaml func(value string) string // the file with this key alone
	in   func(reflect.Value) reflect.Value
}

// configKeys lists all keys below a type, without the sections themselves.
func configKeys(t *testing.T, of reflect.Type, within configKey) []configKey {
	t.Helper()
	var all []configKey
	for i := range of.NumField() {
		f := of.Field(i)
		if !f.IsExported() {
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if option == "inline" {
			if f.Type.Kind() == reflect.Struct {
				inner := within
				inner.in = func(v reflect.Value) reflect.Value { return reflect.Indirect(within.in(v)).Field(i) }
				all = append(all, configKeys(t, f.Type, inner)...)
			}
			continue
		}
		if name == "-" {
			continue // not in files
		}
		if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(name) {
			t.Errorf("%v.%s has no key", of, f.Name)
			continue
		}
		key := configKey{
			name: strings.TrimPrefix(within.name+"."+name, "."), of: f.Type,
			yaml: func(value string) string { return within.yaml("{" + name + ": " + value + "}") },
			in:   func(v reflect.Value) reflect.Value { return reflect.Indirect(within.in(v)).Field(i) },
		}
		inner, section := f.Type, key
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
			inner = inner.Elem()
			section.yaml = func(value string) string { return key.yaml("[" + value + "]") }
			section.in = func(v reflect.Value) reflect.Value {
				if list := key.in(v); list.Len() > 0 {
					return list.Index(0)
				}
				return reflect.Zero(inner)
			}
		}
		if inner.Kind() == reflect.Struct {
			all = append(all, configKeys(t, inner, section)...)
			continue
		}
		all = append(all, key)
	}
	return all
}

func configSamples(t *testing.T, of reflect.Type) map[string]any {
	t.Helper()
	as := func(v any) any { return reflect.ValueOf(v).Convert(of).Interface() }
	if of == reflect.TypeFor[auto.HalfLife]() {
		return map[string]any{"30d": auto.HalfLife(30 * 24 * time.Hour), "90m": auto.HalfLife(90 * time.Minute)}
	}
	switch of.Kind() {
	case reflect.Bool:
		return map[string]any{"true": as(true), "false": as(false)}
	case reflect.String:
		return map[string]any{"/some text": as("/some text"), `"0.5"`: as("0.5"), "2024-01-02": as("2024-01-02")}
	case reflect.Int, reflect.Uint64:
		return map[string]any{"1234567": as(1234567)}
	case reflect.Float64:
		return map[string]any{"0.40625": as(0.40625), "3": as(3)}
	case reflect.Interface:
		return map[string]any{"x": "x"}
	case reflect.Slice:
		switch of.Elem().Kind() {
		case reflect.String:
			return map[string]any{"[b, a, 1]": as([]string{"b", "a", "1"})}
		case reflect.Int:
			return map[string]any{"[3, 2]": as([]int{3, 2})}
		case reflect.Float64:
			return map[string]any{"[0.5, 2]": as([]float64{0.5, 2})}
		case reflect.Slice:
			return map[string]any{"[[3], [2, 1]]": as([][]int{{3}, {2, 1}})}
		}
	case reflect.Array:
		return map[string]any{"[0.5, 2]": [2]float64{0.5, 2}}
	case reflect.Map:
		switch of.Elem().Kind() {
		case reflect.String:
			return map[string]any{"{1: x}": as(map[string]string{"1": "x"})}
		case reflect.Float64:
			return map[string]any{"{b: 0.5}": as(map[string]float64{"b": 0.5})}
		case reflect.Interface:
			return map[string]any{"{b: 0.5}": as(map[string]any{"b": 0.5})}
		}
	}
	t.Fatalf("no sample of %v", of)
	return nil
}

// Every key of every configuration file sets its field, and accepts only values that it can hold.
func TestEveryConfigKeyArrivesFromYAML(t *testing.T) {
	root := configKey{yaml: func(v string) string { return v }, in: func(v reflect.Value) reflect.Value { return v.Elem() }}
	for file, c := range configFiles() {
		for _, k := range configKeys(t, c.of, root) {
			of, wrong := k.of, []string{"null", "", "!mine 1"}
			if of.Kind() == reflect.Pointer { // null leaves it out
				of, wrong = of.Elem(), wrong[2:]
			}
			for text, want := range configSamples(t, of) {
				into := reflect.New(c.of)
				problems := config.Decode([]byte(k.yaml(text)), storage.File("/"), variables(), into.Interface())
				if got := reflect.Indirect(k.in(into)).Interface(); !reflect.DeepEqual(got, want) && !strings.HasPrefix(k.name, "imagenet") {
					if p, isPath := got.(config.Path); !isPath || p != "/"+want.(config.Path) {
						t.Errorf("%s: %s: %s arrives as %#v (%q)", file, k.name, text, got, problems)
					}
				}
			}
			switch of.Kind() {
			case reflect.Bool:
				wrong = append(wrong, "yes", `"true"`, "1", "[true]")
			case reflect.String:
				wrong = append(wrong, "[a]", "{a: b}")
			case reflect.Int:
				wrong = append(wrong, "5.5", `"5"`, "many", "1e30", "010", "[1]")
			case reflect.Uint64:
				wrong = append(wrong, "5.5", `"5"`, "-1", "010")
			case reflect.Float64:
				wrong = append(wrong, `"5"`, "half", "1e400")
			case reflect.Slice:
				wrong = append(wrong, "a", "[null]", "{a: b}")
			case reflect.Array:
				wrong = append(wrong, "a", "[a, b]", "[1]", "[1, 2, 3]")
			case reflect.Map:
				wrong = append(wrong, "a", "[a]", "{a: 1, a: 2}")
			}
			if of.Kind() == reflect.Interface {
				continue
			}
			last := k.name[strings.LastIndex(k.name, ".")+1:]
			for _, text := range wrong {
				problems := strings.Join(config.Decode([]byte(k.yaml(text)), storage.File("/"), variables(), reflect.New(c.of).Interface()), "\n")
				if !strings.Contains(problems, "line 1") || !strings.Contains(problems, last) && !strings.Contains(problems, "tag") && !strings.Contains(problems, "already defined") && !strings.Contains(problems, "invalid array") {
					t.Errorf("%s: %s: %q: %q", file, k.name, text, problems)
				}
			}
		}
	}
}

// The page of each configuration describes all of its keys.
func TestDocumentedConfigKeys(t *testing.T) {
	root := configKey{yaml: func(v string) string { return v }}
	common, err := os.ReadFile(filepath.Join("..", "docs", "train.md"))
	if err != nil {
		t.Fatal(err)
	}
	for file, c := range configFiles() {
		page, err := os.ReadFile(filepath.Join("..", "docs", c.page))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range configKeys(t, c.of, root) {
			text := string(page)
			if strings.Contains(k.name, "train.") || strings.Contains(k.name, "network.") {
				text = string(common)
			}
			if part := regexp.MustCompile(`^settings\.task_loss\.|^(advice|experts)\.`); file != "costs" && file != "import" && part.MatchString(k.name) {
				continue // tested with pipe costs
			}
			if strings.HasPrefix(k.name, "tables.import.") {
				continue // tested with pipe import
			}
			last := k.name[strings.LastIndex(k.name, ".")+1:]
			if !regexp.MustCompile("[`{ .\n]" + last + "[`:]").MatchString(text) {
				t.Errorf("%s: %s is not in docs/%s", file, k.name, c.page)
			}
		}
	}
}
