package page

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"regexp"
)

// URL is the picture itself, as an address.
func (p Picture) URL() template.URL {
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(p.JPEG))
}

var prolog = regexp.MustCompile(`(?s)^.*?(<svg)`)

// themed are the colours of a figure's ink, lines and background, which follow the colours of the page.
var themed = [][2][]byte{
	{[]byte("#242B36"), []byte("var(--ink)")},
	{[]byte("#DDE2E8"), []byte("var(--line)")},
	{[]byte("#FFFFFF"), []byte("var(--card)")},
}

// Inline is the figure without the XML prolog, which is not allowed inside HTML. Its texts are escaped by the plotter.
func (f *Figure) Inline() template.HTML {
	svg := prolog.ReplaceAll(f.SVG, []byte("$1"))
	for _, c := range themed {
		svg = bytes.ReplaceAll(svg, c[0], c[1])
	}
	return template.HTML(svg)
}

// Drawn is the bar as a picture. It says nothing that the text beside it does not say.
func (b Bar) Drawn() template.HTML {
	const width = 100
	return template.HTML(fmt.Sprintf(`<svg class="bar" width="%d" height="10" viewBox="0 0 %[1]d 10" preserveAspectRatio="none" aria-hidden="true">`+
		`<rect width="%[1]d" height="10" fill="var(--line)"/><rect width="%.1[2]f" height="10" fill="var(--mark)"/></svg>`, width, width*min(1, max(0, float64(b)))))
}
