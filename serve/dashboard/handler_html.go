package dashboard

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pipe/internal/safetext"
	"pipe/pipeline/decide"
	"pipe/pipeline/report/page"
)

//go:embed page.html
var pageHTML string

// pageTemplate is parsed for the first page, so that programs without one start faster.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageHTML)) })

// content is the data of the page template. Strings are plain text.
type content struct {
	Title, Kind, Assets string
	Parts, Self         string // URLs of the parts and of the page itself, with the same choices
	Policy              string // name@digest of the choice
	Minutes             int
	Choices, Windows    []choice
	Failed              string
	Answers             []template.HTML
	Start               *start
	Nav                 []link
	Sections            []template.HTML
	Fields              []priceField
	First, More         []priceField // the same, divided into shown and folded ones
	MoreChanged         bool
	Frontier, Tried     template.HTML

	Kinds                          []choice // of inputs to try
	Many, Image                    bool
	InputLabel, Placeholder, Input string
	InputRows, MostInput           int
}

type choice struct {
	Value, Label string
	Chosen       bool
}

type link struct{ ID, Title string }

// start is the instruction for the first decision.
type start struct{ Text, Command string }

func sectionHTML(s page.Section) template.HTML {
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		panic(err) // writes to a buffer do not fail, and sections have only types that templates accept
	}
	return template.HTML(strings.TrimSpace(b.String()))
}

func answerHTML(a page.Answer) template.HTML {
	var b bytes.Buffer
	a.Text = safetext.Line(a.Text)
	if err := pageTemplate().ExecuteTemplate(&b, "answer", a); err != nil {
		panic(err) // as above
	}
	return template.HTML(b.String())
}

// subtitle is the line below the title.
func (v *view) subtitle(version string) string {
	text := "up for " + ago(v.state.Uptime) + ", figures of " + v.state.Time.Format("15:04:05 UTC")
	if version != "" {
		text = "version " + version + ", " + text
	}
	return text
}

// page writes the page.
func (p *Page) page(w http.ResponseWriter, r *http.Request) {
	p.write(w, r, queryOf(r.URL.Query()), http.StatusOK, nil)
}

// write writes the page, with the result of a try if there is one.
func (p *Page) write(w http.ResponseWriter, r *http.Request, q query, status int, t *tryResult) {
	v := p.view(q)
	c := &content{
		Title: "pipe serve", Kind: v.subtitle(p.from.Version), Assets: assets.Digest, Minutes: q.minutes,
		Choices: v.choices(q.policy), MostInput: maxInput,
	}
	for _, m := range windows {
		c.Windows = append(c.Windows, choice{strconv.Itoa(m), plural(int64(m), "minute"), m == q.minutes})
	}
	shown := v.shownPolicy(q.policy)
	keep := url.Values{"minutes": {strconv.Itoa(q.minutes)}}
	if shown != nil {
		c.Policy = versionKey(shown.Name, shown.Digest)
		keep.Set("policy", c.Policy)
	}
	c.Self, c.Parts = "/?"+keep.Encode(), "/page/parts?"+keep.Encode()
	for _, a := range v.answers() {
		c.Answers = append(c.Answers, answerHTML(a))
	}
	if v.state.Traffic.TotalDecisions == 0 {
		c.Start = firstDecision(r, shown, p.from.Keys)
	}
	for _, s := range v.sections() {
		c.Sections = append(c.Sections, sectionHTML(s))
		c.Nav = append(c.Nav, link{s.ID, s.Title})
	}
	if shown != nil {
		p.interactive(r, c, q, shown)
	}
	if t != nil {
		c.Tried, c.Input = sectionHTML(t.section()), t.input
	}
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, c); err != nil {
		http.Error(w, "write page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	page.SetHeaders(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = safetext.Writer(w).Write(b.Bytes()) // the client may be gone
}

// shownPolicy returns the loaded policy for prices and tries: that of the figures, or else the requested one, the default
// one, or the first one. nil: none is loaded.
func (v *view) shownPolicy(asked string) *Loaded {
	var chosen *Loaded
	for i := range v.loaded {
		l := &v.loaded[i]
		switch {
		case v.policy != nil && v.policy.Name == l.Name:
			return l
		case asked == l.Name || asked == versionKey(l.Name, l.Digest):
			chosen = l
		case chosen == nil && l.Default:
			chosen = l
		}
	}
	if chosen == nil && len(v.loaded) > 0 {
		chosen = &v.loaded[0]
	}
	return chosen
}

// choices returns the loaded policies and the versions that decided; none if there is only one.
func (v *view) choices(asked string) []choice {
	var all []choice
	seen := map[string]bool{}
	chosen := ""
	if v.policy != nil {
		chosen = versionKey(v.policy.Name, v.policy.Digest)
	} else if l := v.shownPolicy(asked); l != nil {
		chosen = versionKey(l.Name, l.Digest)
	}
	add := func(name, digest, note string) {
		key := versionKey(name, digest)
		if !seen[key] {
			seen[key] = true
			all = append(all, choice{key, safetext.Line(name) + " " + shortDigest(digest) + note, key == chosen})
		}
	}
	for _, l := range v.loaded {
		add(l.Name, l.Digest, "")
	}
	for _, s := range v.state.Policies {
		add(s.Name, s.Digest, " (no longer loaded)")
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// firstFields is the number of prices that are not folded.
const firstFields = 9

// interactive fills in the forms for prices and tries.
func (p *Page) interactive(r *http.Request, c *content, q query, l *Loaded) {
	c.Fields = priceFields(l.Info)
	_, err := priceChange(c.Fields, q.values)
	if err != nil {
		c.Failed = sentence(err)
	}
	first := min(len(c.Fields), firstFields)
	c.First, c.More = c.Fields[:first], c.Fields[first:]
	c.MoreChanged = slices.ContainsFunc(c.More, func(f priceField) bool { return f.Value != f.Base })
	if len(c.Fields) > 0 {
		c.Nav = append(c.Nav, link{"prices", "Other prices"})
	}
	if sample := p.from.Collector.sampleOf(l.Name, l.Digest); len(sample) > 0 && l.estimates() {
		q.policy = c.Policy
		f, err := p.computeFrontier(r.Context(), q)
		c.Frontier = sectionHTML(frontierSection(f, err))
		c.Nav = append(c.Nav, link{"frontier", "Fees and losses"})
		c.Kinds = append(c.Kinds, choice{Value: kindRecent, Label: "a recent row of the traffic"})
	}
	c.Kinds = append([]choice{{Value: decide.InputFeatures, Label: plural(int64(l.Info.Dim), "feature")}}, c.Kinds...)
	c.InputLabel, c.Placeholder, c.InputRows = fmt.Sprintf("%s, as numbers", plural(int64(l.Info.Dim), "feature")), "0.12, -0.5, 3, ...", 3
	switch l.Input {
	case decide.InputText:
		c.Kinds = append([]choice{{Value: decide.InputText, Label: "a text"}}, c.Kinds...)
		c.InputLabel, c.Placeholder, c.InputRows = "Prompt", "What is the capital of Australia?", 5
	case decide.InputRow:
		c.Kinds = append([]choice{{Value: decide.InputRow, Label: "a row of raw columns"}}, c.Kinds...)
		c.InputLabel, c.Placeholder, c.InputRows = "Row, as a JSON object: "+columnsOf(l.Columns), `{"amount": 12.5, "country": "DE"}`, 6
	case decide.InputImage:
		c.Kinds = append([]choice{{Value: decide.InputImage, Label: "an image"}}, c.Kinds...)
		c.Image, c.InputLabel = true, "Or "+c.InputLabel
	}
	for i := range c.Kinds {
		c.Kinds[i].Chosen = c.Kinds[i].Value == q.values.Get("kind")
	}
	c.Many = len(c.Kinds) > 1
	c.Nav = append(c.Nav, link{"try", "Try a request"})
}

// columnsOf lists the first columns.
func columnsOf(columns []string) string {
	const most = 20
	if len(columns) <= most {
		return strings.Join(columns, ", ")
	}
	return strings.Join(columns[:most], ", ") + fmt.Sprintf(" and %d more", len(columns)-most)
}

// firstDecision returns an example of a request for a policy.
func firstDecision(r *http.Request, l *Loaded, keys bool) *start {
	if l == nil {
		return nil
	}
	body := ""
	if !l.Default {
		body = `"policy": ` + quoted(l.Name) + `, `
	}
	switch l.Input {
	case decide.InputText:
		body += `"texts": ["What is the capital of Australia?"]`
	case decide.InputRow:
		body += `"rows": [{` + emptyRow(l.Columns) + `}]`
	default:
		body += fmt.Sprintf(`"features": [['$(seq -s, %d)']]`, l.Info.Dim)
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	command := "curl -s " + scheme + "://" + hostOf(r.Host) + "/v1/decide -H 'Content-Type: application/json'"
	if keys {
		command += ` -H "Authorization: Bearer $PIPE_KEY"`
	}
	return &start{Text: "Send a request, and this page shows what was decided:", Command: command + " \\\n  -d '{" + body + "}'"}
}
