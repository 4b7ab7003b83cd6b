package people

import (
	_ "embed"
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
	assets       = page.NewAssets(pageCSS, pageJS)
)

// registerPage adds the page of the people.
func (p *People) registerPage(mux *http.ServeMux) {
	mux.HandleFunc("GET /people/{$}", p.servePage)
	assets.Register(mux, "/people")
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
	v := pageView{Assets: assets.Digest, Person: asks.name(), Nobody: asks.person == nil && asks.Name != ""}
	if asks.Name == "" {
		for _, o := range p.team.Load().List {
			v.People = append(v.People, o.Name)
		}
	}
	page.SetHeaders(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pageTemplate.Execute(w, v) // the client may be gone
}
