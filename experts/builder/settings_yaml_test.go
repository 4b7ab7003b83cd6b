package builder

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/kinds"
	"pipe/internal/config"
	"pipe/internal/progress"
)

// registeredKind is one kind of one part: how YAML names it, how its settings
// come back from there, and what type they are decoded into.
type registeredKind struct {
	part, kind string
	lead       string // YAML up to the settings, which follow on lines of their own
	indent     string // of those lines
	settings   func(*part.Config) map[string]any
	of         reflect.Type
}

func (k registeredKind) String() string { return k.part + "/" + k.kind }

// yaml is a configuration with one setting of the kind.
func (k registeredKind) yaml(setting string) string {
	return k.lead + k.indent + strings.ReplaceAll(setting, "\n", "\n"+k.indent) + "\n"
}

// settingsType asks a constructor for a key that it cannot have.
func settingsType(t *testing.T, name string, create func(map[string]any) error) reflect.Type {
	t.Helper()
	err := create(map[string]any{"no such key": 1})
	var unknown *config.UnknownKeyError
	if !errors.As(err, &unknown) {
		t.Fatalf("%s takes any key: %v", name, err)
	}
	return unknown.Of
}

// everyKind lists all kinds of all registries.
func everyKind(t *testing.T) []registeredKind {
	t.Helper()
	s := (&part.Build{Inputs: make(part.Inputs), Labels: claimLabels, Progress: progress.Silent{}}).Setup("part")
	chat.OpenSession(s.Build, t.TempDir(), nil)
	var all []registeredKind
	add := func(part, lead, indent string, kinds []string, create func(kind string, m map[string]any) error, settings func(*part.Config) map[string]any) {
		for _, kind := range kinds {
			of := settingsType(t, part+"/"+kind, func(m map[string]any) error { return create(kind, m) })
			all = append(all, registeredKind{part, kind, fmt.Sprintf(lead, kind), indent, settings, of})
		}
	}
	ctx, builtin := t.Context(), kinds.Builtin()
	add("instances", "instances:\n  kind: %s\n", "  ", slices.Collect(maps.Keys(builtin.Sources)),
		func(k string, m map[string]any) error { _, err := builtin.Sources[k](ctx, s, m); return err },
		func(c *part.Config) map[string]any { return c.Instances.Settings })
	add("split", "split:\n  kind: %s\n", "  ", slices.Collect(maps.Keys(builtin.Splits)),
		func(k string, m map[string]any) error { _, err := builtin.Splits[k](ctx, s, m); return err },
		func(c *part.Config) map[string]any { return c.Split.Settings })
	add("task_loss", "task_loss:\n  kind: %s\n", "  ", slices.Collect(maps.Keys(builtin.Losses)),
		func(k string, m map[string]any) error { _, err := builtin.Losses[k](ctx, s, m); return err },
		func(c *part.Config) map[string]any { return c.TaskLoss.Settings })
	add("advice", "advice:\n- name: a\n  fee: 0.25\n  kind: %s\n", "  ", slices.Collect(maps.Keys(builtin.Advice)),
		func(k string, m map[string]any) error { _, err := builtin.Advice[k](ctx, s, m); return err },
		func(c *part.Config) map[string]any { return c.Advice[0].Settings })
	add("experts", "experts:\n- name: e\n  unavailable: [a]\n  kind: %s\n", "  ", slices.Collect(maps.Keys(builtin.Experts)),
		func(k string, m map[string]any) error { _, err := builtin.Experts[k](ctx, s, m); return err },
		func(c *part.Config) map[string]any { return c.Experts[0].Settings })
	add("features", "features:\n- kind: %s\n", "  ", slices.Collect(maps.Keys(builtin.Features)),
		func(k string, m map[string]any) error { _, err := builtin.Features[k](ctx, s, m); return err },
		func(c *part.Config) map[string]any { return c.Features[0].Settings })
	// The error about an unknown kind of chat model names those that there are.
	_, err := chat.Open(ctx, s, map[string]any{"kind": "?"})
	_, chats, _ := strings.Cut(fmt.Sprint(err), "known are ")
	add("reformulator", "advice:\n- name: a\n  kind: passages\n  reformulator:\n    kind: %s\n", "    ", strings.Split(chats, ", "),
		func(k string, m map[string]any) error {
			all := maps.Clone(m)
			all["kind"] = k
			_, err := chat.Open(ctx, s, all)
			return err
		},
		func(c *part.Config) map[string]any {
			rest := maps.Clone(c.Advice[0].Settings["reformulator"].(map[string]any))
			delete(rest, "kind")
			return rest
		})
	slices.SortFunc(all, func(a, b registeredKind) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// setting is one key of a kind, perhaps within sections.
type setting struct {
	path  []string // keys, from the outermost
	index [][]int  // of the fields, one per key, within the struct around
	of    reflect.Type
}

func (s setting) name() string { return strings.Join(s.path, ".") }

// settingsOf lists the leaves of settings: those of embedded structs and of
// sections, too.
func settingsOf(t *testing.T, of reflect.Type, within setting) []setting {
	t.Helper()
	var all []setting
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			continue // its fields are visible
		}
		if !f.IsExported() || !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(name) {
			t.Errorf("%v.%s has no key", of, f.Name)
			continue
		}
		s := setting{append(slices.Clone(within.path), name), append(slices.Clone(within.index), f.Index), f.Type}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			all = append(all, settingsOf(t, inner, s)...)
			continue
		}
		all = append(all, s)
	}
	return all
}

// in returns the setting's value within decoded settings.
func (s setting) in(v reflect.Value) any {
	for _, index := range s.index {
		v = reflect.Indirect(v.FieldByIndex(index))
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v.Interface()
}

// samples are values of a type as YAML has them, and as they are to arrive.
func samples(t *testing.T, of reflect.Type) map[string]any {
	t.Helper()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	as := func(v any) any { return reflect.ValueOf(v).Convert(of).Interface() }
	switch of.Kind() {
	case reflect.Bool:
		return map[string]any{"true": as(true), "false": as(false)}
	case reflect.String:
		return map[string]any{"some text": as("some text"), `"0.5"`: as("0.5"), "yes": as("yes")}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return map[string]any{"1234567": as(1234567)}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"0.40625": as(0.40625), "3": as(3)}
	case reflect.Slice:
		switch of.Elem().Kind() {
		case reflect.String:
			return map[string]any{`[b, a, "1"]`: as([]string{"b", "a", "1"}), "[]": as([]string{})}
		case reflect.Int:
			return map[string]any{"[3, 2]": as([]int{3, 2})}
		case reflect.Float32:
			return map[string]any{"[0.5, 2, 0.25]": as([]float32{0.5, 2, 0.25})}
		case reflect.Float64:
			return map[string]any{"[0.5, 2]": as([]float64{0.5, 2})}
		}
	case reflect.Map:
		if of.Elem().Kind() == reflect.String {
			return map[string]any{"{b: x, A b: y}": as(map[string]string{"b": "x", "A b": "y"})}
		}
		if of.Elem().Kind() == reflect.Float64 {
			return map[string]any{"{b: 0.5, A b: 1}": as(map[string]float64{"b": 0.5, "A b": 1})}
		}
		if of.Elem().Kind() == reflect.Map {
			return map[string]any{"{kind: {x: y, n: 0.5}}": as(map[string]map[string]any{"kind": {"x": "y", "n": 0.5}})}
		}
		return map[string]any{"{kind: x, n: 0.5}": as(map[string]any{"kind": "x", "n": 0.5})}
	}
	t.Fatalf("no sample of %v", of)
	return nil
}

// written is a setting as YAML has it.
func (s setting) written(value string) string {
	var b strings.Builder
	for depth, key := range s.path {
		fmt.Fprintf(&b, "\n%s%s:", strings.Repeat("  ", depth), key)
	}
	return strings.TrimPrefix(b.String(), "\n") + " " + value
}

func readYAML(text string) (*part.Config, error) {
	var root yaml.Node
	if err := yaml.Load([]byte(text), &root); err != nil {
		return nil, err
	}
	var cfg part.Config
	return &cfg, root.Load(&cfg, yaml.WithKnownFields())
}

// Every key of every kind that is registered arrives, from YAML, where it belongs.
// A key of a kind that the part itself has, too, would not.
func TestEverySettingArrivesFromYAML(t *testing.T) {
	keys := 0
	for _, k := range everyKind(t) {
		for _, s := range settingsOf(t, k.of, setting{}) {
			keys++
			for text, want := range samples(t, s.of) {
				cfg, err := readYAML(k.yaml(s.written(text)))
				if err != nil {
					t.Errorf("%v: %s is not the kind's own key: %v", k, s.name(), err)
					continue
				}
				into := reflect.New(k.of)
				if err := part.DecodeSettings(k.settings(cfg), into.Interface()); err != nil && !isOwnCheck(err) {
					t.Errorf("%v: %s: %s: %v", k, s.name(), text, err)
					continue
				}
				if got := s.in(into.Elem()); !reflect.DeepEqual(got, want) {
					t.Errorf("%v: %s: %s arrives as %#v", k, s.name(), text, got)
				}
			}
		}
	}
	if keys < 200 {
		t.Errorf("only %d keys were tried", keys)
	}
}

// Values that a key cannot have, and keys that are written in another way, are
// errors that name the key.
func TestNoSettingTakesWhatItCannotHold(t *testing.T) {
	for _, k := range everyKind(t) {
		for _, s := range settingsOf(t, k.of, setting{}) {
			of := s.of
			wrong := []string{"{a: [1]}"}
			if of.Kind() != reflect.Pointer {
				wrong = append(wrong, "null", "")
			} else {
				of = of.Elem()
			}
			switch of.Kind() {
			case reflect.Bool:
				wrong = append(wrong, `"yes"`, "yes", "1", `"true"`, "[true]")
			case reflect.String:
				wrong = append(wrong, "5", "true", "[a]")
			case reflect.Int, reflect.Int64:
				wrong = append(wrong, "5.5", `"5"`, "many", "1e30", "9223372036854775808")
			case reflect.Uint64:
				wrong = append(wrong, "-1", "5.5", `"5"`, "18446744073709551616")
			case reflect.Float32:
				wrong = append(wrong, `"5"`, "half", ".inf", ".nan", "1e300")
			case reflect.Float64:
				wrong = append(wrong, `"5"`, "half", ".inf", "-.inf", ".nan", "1e400")
			case reflect.Slice:
				wrong = append(wrong, "a", "[[a]]", "[null]")
			case reflect.Map:
				wrong = wrong[1:]
				wrong = append(wrong, "a", "[a]", "{1: a}")
			}
			for _, text := range wrong {
				if err := decodeYAML(t, k, s.written(text)); err == nil || !strings.Contains(err.Error(), s.path[len(s.path)-1]) {
					t.Errorf("%v: %s: %q gives %v", k, s.name(), text, err)
				}
			}
			for _, key := range []string{strings.ToUpper(s.path[len(s.path)-1]), s.path[len(s.path)-1] + "s"} {
				other := s
				other.path = append(slices.Clone(s.path[:len(s.path)-1]), key)
				for text := range samples(t, s.of) {
					if err := decodeYAML(t, k, other.written(text)); err == nil || !strings.Contains(err.Error(), "unknown key") || !strings.Contains(err.Error(), "known are ") {
						if _, isKey := config.SettingKeys(k.of)[key]; !isKey {
							t.Errorf("%v: %s: %s gives %v", k, key, text, err)
						}
					}
				}
			}
		}
	}
}

func decodeYAML(t *testing.T, k registeredKind, setting string) error {
	t.Helper()
	cfg, err := readYAML(k.yaml(setting))
	if err != nil {
		t.Errorf("%v: %q: %v", k, setting, err)
		return err
	}
	return part.DecodeSettings(k.settings(cfg), reflect.New(k.of).Interface())
}

// isOwnCheck tells an error about the sample's value from one about its type.
func isOwnCheck(err error) bool {
	return !regexp.MustCompile(`expected|unknown key|has no value|finite`).MatchString(err.Error())
}

// The pages of the documentation have every key, and no other.
func TestDocumentedSettings(t *testing.T) {
	known := make(map[string]bool)
	pages := ""
	for _, page := range []string{"costs-config.md", "experts.md", "resuming.md", "endpoints.md", "retrieval.md", "grading.md"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		pages += string(b)
	}
	for _, k := range everyKind(t) {
		if !strings.Contains(pages, "`"+k.kind+"`") && !strings.Contains(pages, "`kind: "+k.kind+"`") && !strings.Contains(pages, "{kind: "+k.kind) {
			t.Errorf("%v is not documented", k)
		}
		for _, s := range settingsOf(t, k.of, setting{}) {
			for _, key := range s.path {
				known[key] = true
				if !regexp.MustCompile("[`{ ]" + key + "[`:]").MatchString(pages) {
					t.Errorf("%v: %s is not documented", k, s.name())
				}
			}
		}
	}
	for _, section := range []reflect.Type{reflect.TypeFor[part.Config](), reflect.TypeFor[part.LatencyConfig]()} {
		for key := range config.SettingKeys(section) {
			known[key] = true
			if !strings.Contains(pages, "`"+key+"`") {
				t.Errorf("%v: %s is not documented", section, key)
			}
		}
	}
	quoted := regexp.MustCompile("`([a-z][a-z0-9_]*)`")
	for table := range strings.SplitSeq(pages, "\n\n") {
		lines := strings.Split(table, "\n")
		if !strings.HasPrefix(lines[0], "| setting |") && !strings.HasPrefix(lines[0], "| key |") {
			continue
		}
		for _, line := range lines[2:] {
			for _, m := range quoted.FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
				if !known[m[1]] {
					t.Errorf("the setting %s is documented, and no kind has it", m[1])
				}
			}
		}
	}
}
