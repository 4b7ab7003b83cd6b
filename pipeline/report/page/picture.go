package page

import (
	"encoding/base64"
	"fmt"
	"html/template"
)

// URL is the picture itself, as an address.
func (p Picture) URL() template.URL {
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(p.JPEG))
}

// Drawn is the bar as a picture. It says nothing that the text beside it does not say.
func (b Bar) Drawn() template.HTML {
	const width = 100
	return template.HTML(fmt.Sprintf(`<svg class="bar" width="%d" height="10" viewBox="0 0 %[1]d 10" preserveAspectRatio="none" aria-hidden="true">`+
		`<rect width="%[1]d" height="10" fill="var(--line)"/><rect width="%.1[2]f" height="10" fill="var(--mark)"/></svg>`, width, width*min(1, max(0, float64(b)))))
}
