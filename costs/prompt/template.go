package prompt

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	"pipe/internal/outside"
	"pipe/internal/textfile"
)

// mostBytes limits a prompt.
const mostBytes = 4 << 20

// Template writes prompts. It is safe for concurrent use.
type Template struct {
	parsed *template.Template
	names  []Name
}

// Name is a name that a template takes from its values: question in {{.question}}, {{$.question}} and
// {{index . "question"}}.
type Name struct {
	Text string
	Line int // of the template, from 1
}

// Parse reads a template. what names it in errors, such as "prompt".
func Parse(what, text string) (*Template, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("%s: is empty", what)
	}
	t, err := template.New(what).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, plain(what, err)
	}
	out := &Template{parsed: t}
	for _, one := range t.Templates() {
		// A template that another one calls gets values that are not known here.
		w := walk{tree: one.Tree, root: one.Name() == what}
		w.node(one.Root, w.root)
		out.names = append(out.names, w.names...)
	}
	return out, nil
}

// What returns what the template is for, as errors name it.
func (t *Template) What() string { return t.parsed.Name() }

// Names returns the names that the template takes from its values, in the order of the text, each as often as it occurs.
func (t *Template) Names() []Name { return t.names }

// Write fills in values. A name without a value, a prompt of white space and one of more than mostBytes are errors.
func (t *Template) Write(values map[string]any) (string, error) {
	var b limited
	err := outside.Check(func() error { return t.parsed.Execute(&b, values) })
	switch {
	case errors.Is(err, errTooLong):
		return "", fmt.Errorf("%s: is longer than %d MiB", t.parsed.Name(), mostBytes>>20)
	case err != nil:
		return "", plain(t.parsed.Name(), err)
	case strings.TrimSpace(b.text.String()) == "":
		return "", fmt.Errorf("%s: is empty", t.parsed.Name())
	}
	return b.text.String(), nil
}

var errTooLong = errors.New("too long")

// limited is a builder that refuses to grow beyond the limit.
type limited struct{ text strings.Builder }

func (b *limited) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > mostBytes {
		return 0, errTooLong
	}
	return b.text.Write(p)
}

// plain rewords an error of the template package: "template: prompt:2:5: executing ..." begins with its place.
func plain(what string, err error) error {
	text := strings.TrimPrefix(err.Error(), "template: "+what+":")
	place, rest, ok := strings.Cut(text, ": ")
	if text == err.Error() || !ok {
		return fmt.Errorf("%s: %s", what, textfile.Short(err.Error()))
	}
	line, _, _ := strings.Cut(place, ":")
	if _, after, ok := strings.Cut(rest, `" at `); ok {
		rest = after // without "executing NAME"
	}
	return fmt.Errorf("%s: line %s: %s", what, line, rest)
}

// walk collects the names of a template.
type walk struct {
	tree  *parse.Tree
	root  bool // $ stands for the values
	names []Name
}

// node visits a node; dot says that . stands for the values.
func (w *walk) node(n parse.Node, dot bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, c := range n.Nodes {
			w.node(c, dot)
		}
	case *parse.ActionNode:
		w.pipe(n.Pipe, dot)
	case *parse.TemplateNode:
		w.pipe(n.Pipe, dot)
	case *parse.IfNode:
		w.branch(&n.BranchNode, dot, dot)
	case *parse.RangeNode:
		w.branch(&n.BranchNode, dot, false)
	case *parse.WithNode:
		w.branch(&n.BranchNode, dot, false)
	}
}

// branch visits a condition and what depends on it; inside says that . still stands for the values there.
func (w *walk) branch(n *parse.BranchNode, dot, inside bool) {
	w.pipe(n.Pipe, dot)
	w.node(n.List, inside)
	w.node(n.ElseList, dot)
}

func (w *walk) pipe(n *parse.PipeNode, dot bool) {
	if n == nil {
		return
	}
	for _, c := range n.Cmds {
		w.index(c, dot)
		for _, a := range c.Args {
			w.argument(a, dot)
		}
	}
}

// argument visits a field, a variable or something in brackets.
func (w *walk) argument(n parse.Node, dot bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		if dot {
			w.add(n, n.Ident[0])
		}
	case *parse.VariableNode:
		if w.root && n.Ident[0] == "$" && len(n.Ident) > 1 {
			w.add(n, n.Ident[1])
		}
	case *parse.ChainNode:
		w.argument(n.Node, dot)
	case *parse.PipeNode:
		w.pipe(n, dot)
	}
}

// index finds {{index . "name"}}.
func (w *walk) index(c *parse.CommandNode, dot bool) {
	if len(c.Args) < 3 {
		return
	}
	name, isName := c.Args[0].(*parse.IdentifierNode)
	text, isText := c.Args[2].(*parse.StringNode)
	if !isName || name.Ident != "index" || !isText {
		return
	}
	_, isDot := c.Args[1].(*parse.DotNode)
	v, isVariable := c.Args[1].(*parse.VariableNode)
	if isDot && dot || isVariable && w.root && len(v.Ident) == 1 && v.Ident[0] == "$" {
		w.add(c, text.Text)
	}
}

func (w *walk) add(n parse.Node, name string) {
	place, _ := w.tree.ErrorContext(n)
	parts := strings.Split(place, ":")
	line := 0
	if len(parts) >= 3 {
		fmt.Sscan(parts[len(parts)-2], &line)
	}
	w.names = append(w.names, Name{name, line})
}
