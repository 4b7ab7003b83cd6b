package report

import (
	"pipe/models"
	"pipe/pipeline/methods"
	"pipe/pipeline/report/page"
)

func (r *Report) heading() string {
	if r.Title != "" {
		return r.Title
	}
	return r.Benchmark
}

// standIn warns about stand-ins for the real models or data; "" if there are none.
func (r *Report) standIn() string {
	if r.StandIn == "" {
		return ""
	}
	return "Stand-ins: " + r.StandIn
}

// Caption adds captions for own methods; known methods have captions already.
func (r *Report) Caption(own []models.Method) {
	for _, m := range own {
		if r.Captions == nil {
			r.Captions = map[string]string{}
		}
		r.Captions[m.Name] = m.About
	}
}

// methodNotes are the methods with their descriptions.
func (r *Report) methodNotes() []page.Term {
	var notes []page.Term
	for _, name := range r.methods() {
		about := methods.Named(name).About
		if about == "" {
			about = r.Captions[name]
		}
		if about != "" {
			notes = append(notes, page.Term{Name: name, About: about})
		}
	}
	return notes
}
