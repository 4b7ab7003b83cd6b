package session

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pipe/internal/config"
	"pipe/internal/storage"
)

// The page names every setting, and its example is read. The example has the defaults but for the header and the file.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/sessions.md")
	if err != nil {
		t.Fatal(err)
	}
	of := reflect.TypeFor[Settings]()
	for i := range of.NumField() {
		if name := of.Field(i).Tag.Get("yaml"); name != "-" && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	var all struct {
		Gateway struct{ Sessions yaml.Node }
	}
	if err := yaml.Load(example[1], &all); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Dump(&all.Gateway.Sessions)
	if err != nil {
		t.Fatal(err)
	}
	var s Settings
	if problems := config.Decode(text, storage.File("/etc"), func(string) (string, bool) { return "", false }, &s); len(problems) > 0 {
		t.Fatal(problems)
	}
	want := DefaultSettings()
	want.On, want.Header, want.File = true, "X-Conversation", "/etc/sessions.bin"
	if s != want || s.Validate() != nil {
		t.Errorf("%+v", s)
	}
}
