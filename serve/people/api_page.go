package people

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html/template"
	"net/http"

	"pipe/pipeline/report/page"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	pageTemplate = template.Must(template.New("people").Parse(pageHTML))
	styles       = []byte(page.Style() + pageCSS)
	// assets is a digest of style and script for their URLs, so that browsers can cache them.
	assets = func() string {
		sum := sha256.Sum256(append([]byte(pageJS), styles...))
		return hex.EncodeToString(sum[:6])
	}()
)

// registerPage adds the page of the people.
func (p *People) registerPage(mux *http.ServeMux) {
	mux.HandleFunc("GET /people/{$}", p.servePage)
	mux.HandleFunc("GET /people/page.css", asset("text/css; charset=utf-8", styles))
	mux.HandleFunc("GET /people/page.js", asset("text/javascript; charset=utf-8", []byte(pageJS)))
}

// pageView is what the page shows before its script runs.
type pageView struct {
	Assets string
	Person string   // of the key; "": People can be chosen
	People []string // on a server without keys
	Nobody bool     // the key is that of no person
}

func (p *People) servePage(w http.ResponseWriter, r *http.Request) {
	asks, err := p.whoAsks(r)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	v := pageView{Assets: assets, Person: asks.person, Nobody: asks.person == "" && asks.caller.Name != ""}
	if asks.caller.Name == "" {
		for _, o := range p.list {
			v.People = append(v.People, o.Name)
		}
	}
	setHeaders(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pageTemplate.Execute(w, v) // the client may be gone
}

// asset returns a handler for a static file.
func asset(kind string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w)
		w.Header().Set("Content-Type", kind)
		if r.URL.RawQuery == assets {
			w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		}
		_, _ = w.Write(content)
	}
}

// setHeaders sets the security headers of the page: nothing is loaded from other sites, scripts and styles are not inline, no other
// page embeds this one, and nothing is cached.
func setHeaders(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
