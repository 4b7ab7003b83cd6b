package prompt

import (
	"fmt"
	"strings"
	"testing"
)

func TestTemplates(t *testing.T) {
	type passage struct{ Title, Text string }
	values := map[string]any{"question": "Who?", "two words": "x", "Passages": []passage{{"A", "one"}, {"B", "two"}}}
	for text, want := range map[string]string{
		"Q: {{.question}}": "Q: Who?",
		"{{range .Passages}}[{{.Title}}] {{.Text}} ({{$.question}})\n{{end}}":          "[A] one (Who?)\n[B] two (Who?)\n",
		`{{index . "two words"}}{{with .question}}{{len .}}{{end}}`:                    "x4",
		`{{define "p"}}{{.Title}};{{end}}{{range .Passages}}{{template "p" .}}{{end}}`: "A;B;",
	} {
		p, err := Parse("prompt", text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Write(values); got != want || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestNamesOfATemplate(t *testing.T) {
	p, err := Parse("prompt", "{{.a}}\n{{if .b}}{{.c.d}}{{else}}{{(.e).f}}{{end}}\n{{range .Passages}}{{.Title}}{{$.g}}{{else}}{{.h}}{{end}}\n"+
		`{{index . "i j"}}{{index $ "k"}}{{printf "%s" .l | len}}{{with $x := .m}}{{$x.n}}{{.o}}{{end}}{{define "t"}}{{.p}}{{$.q}}{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := "[{a 1} {b 2} {c 2} {e 2} {Passages 3} {g 3} {h 3} {i j 4} {k 4} {l 4} {m 4}]"
	if got := fmt.Sprint(p.Names()); got != want {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestBadTemplates(t *testing.T) {
	for text, says := range map[string]string{
		" \n":                             "prompt: is empty",
		"{{":                              "prompt: line 1: unclosed action",
		"a\n{{.x | nothing}}":             `prompt: line 2: function "nothing" not defined`,
		"a\n\n{{.x}}":                     "prompt: line 3: <.x>: map has no entry for key \"x\"",
		"{{range .list}}{{.Name}}{{end}}": "prompt: line 1: <.Name>: can't evaluate field Name in type string",
		"{{if .no}}x{{end}}\n":            "prompt: is empty",
		`{{define "r"}}abcdefghi{{template "r" .}}{{end}}{{template "r" .}}`: "prompt: ",
		"{{range $i := 100000000}}0123456789{{end}}":                         "prompt: is longer than 4 MiB",
		"{{.list.x.y}}": "prompt: line 1:",
	} {
		p, err := Parse("prompt", text)
		if err == nil {
			_, err = p.Write(map[string]any{"list": []string{"a"}, "no": ""})
		}
		if err == nil || !strings.HasPrefix(err.Error(), says) || strings.Contains(err.Error(), "template: prompt") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzTemplate: a template is refused, or writes a prompt within the limit; every name that it lists is needed or at
// least known.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"{{.q}}", "{{range .Passages}}{{.Title}}{{end}}", `{{index . "q"}}`, "{{with $x := .q}}{{$x}}{{end}}", `{{define "a"}}{{end}}`, "{{block \"b\" .}}{{.q}}{{end}}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "range") && len(text) > 200 || strings.ContainsAny(text, "123456789") {
			return // a long count takes long
		}
		p, err := Parse("prompt", text)
		if err != nil {
			return
		}
		got, err := p.Write(map[string]any{"q": "question", "Passages": []struct{ Title string }{{"a"}}})
		if err == nil && (strings.TrimSpace(got) == "" || len(got) > mostBytes) {
			t.Fatalf("%q writes %d bytes", text, len(got))
		}
	})
}
