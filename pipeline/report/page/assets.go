package page

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// Assets are the style and the script of a page that a server shows.
type Assets struct {
	Digest        string // of both, for their URLs, so that browsers can cache them
	style, script []byte
}

// NewAssets adds a style of a page to that of all pages, for sections that Section.Write writes.
func NewAssets(own, script string) *Assets {
	a := &Assets{style: []byte(style + own), script: []byte(script)}
	sum := sha256.Sum256(append([]byte(script), a.style...))
	a.Digest = hex.EncodeToString(sum[:6])
	return a
}

// Register adds the routes page.css and page.js below a path such as /people.
func (a *Assets) Register(mux *http.ServeMux, under string) {
	mux.HandleFunc("GET "+under+"/page.css", a.serve("text/css; charset=utf-8", a.style))
	mux.HandleFunc("GET "+under+"/page.js", a.serve("text/javascript; charset=utf-8", a.script))
}

func (a *Assets) serve(kind string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		SetHeaders(h)
		h.Set("Content-Type", kind)
		if r.URL.RawQuery == a.Digest {
			h.Set("Cache-Control", "private, max-age=31536000, immutable")
		}
		_, _ = w.Write(content) // the client may be gone
	}
}

// SetHeaders sets the security headers of a page of a server: nothing is loaded from other sites, scripts and styles are not inline, no
// other page embeds it, and nothing is cached.
func SetHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
