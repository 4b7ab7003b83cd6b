package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"pipe/internal/safetext"
)

// WriteText writes the report for a terminal: the verdict, the tables with aligned columns, then the notes.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	for _, sentence := range r.sentences() {
		fmt.Fprintf(&b, "%s\n\n", safetext.Wrap(sentence, textWidth))
	}
	if r.Title != "" {
		fmt.Fprintf(&b, "%s\n\n", safetext.Line(r.Title))
	}
	if r.StandIn != "" {
		fmt.Fprintf(&b, "%s\n\n", safetext.Wrap(r.standIn(), textWidth))
	}
	for _, t := range r.tables() {
		fmt.Fprintln(&b, t.title)
		b.WriteString(t.text())
		if t.caption != "" {
			fmt.Fprintf(&b, "%s\n", safetext.Wrap(t.caption, textWidth))
		}
		fmt.Fprintln(&b)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "%s\n", safetext.Wrap("note: "+note, textWidth))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// textWidth is the width at which sentences are wrapped for a terminal.
const textWidth = 110

// WriteMarkdown writes the report as Markdown; figures are linked by the file names that WriteReport uses.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", escapeMarkdown(r.heading()))
	if r.StandIn != "" {
		fmt.Fprintf(&b, "\n**%s**\n", escapeMarkdown(r.standIn()))
	}
	for _, sentence := range r.sentences() {
		fmt.Fprintf(&b, "\n**%s**\n", escapeMarkdown(sentence))
	}
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n## %s\n\n", escapeMarkdown(t.title))
		t.markdown(&b)
		if t.caption != "" {
			fmt.Fprintf(&b, "\n%s\n", escapeMarkdown(t.caption))
		}
	}
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "\n![%s](%s.svg)\n\n%s\n", escapeMarkdown(f.Title), f.Name, escapeMarkdown(f.Note))
	}
	fmt.Fprint(&b, "\n## Methods in words\n\n")
	for _, m := range r.methodNotes() {
		fmt.Fprintf(&b, "- `%s`: %s\n", strings.ReplaceAll(escapeMarkdown(m.Name), "`", "'"), m.About)
	}
	if len(r.Notes) > 0 {
		fmt.Fprint(&b, "\n## Notes\n\n")
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "- %s\n", escapeMarkdown(note))
	}
	_, err := io.WriteString(w, safetext.Lines(b.String()))
	return err
}

func (t table) markdown(b *bytes.Buffer) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	head, rule := make([]string, len(t.head)), make([]string, len(t.head))
	for c, h := range t.head {
		head[c], rule[c] = escapeMarkdown(h), "---:"
		if c < t.left {
			rule[c] = "---"
		}
	}
	line(head)
	line(rule)
	for i, row := range t.rows {
		cells := make([]string, len(row))
		for c, cell := range row {
			cells[c] = escapeMarkdown(cell)
			if slices.Contains(t.bold(i), c) && cell != "" {
				cells[c] = "**" + cells[c] + "**"
			}
		}
		line(cells)
	}
}

var markdownSpecial = strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;", "\n", " ")

func escapeMarkdown(s string) string { return markdownSpecial.Replace(s) }
