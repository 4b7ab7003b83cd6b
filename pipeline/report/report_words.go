package report

import (
	"pipe/models"
	"pipe/pipeline/methods"
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

// note is a method with its description.
type note struct{ Name, About string }

// Caption adds captions for own methods; known methods have captions already.
func (r *Report) Caption(own []models.Method) {
	for _, m := range own {
		if r.Captions == nil {
			r.Captions = map[string]string{}
		}
		r.Captions[m.Name] = m.About
	}
}

func (r *Report) methodNotes() []note {
	var notes []note
	for _, name := range r.methods() {
		about := methods.Named(name).About
		if about == "" {
			about = r.Captions[name]
		}
		if about != "" {
			notes = append(notes, note{name, about})
		}
	}
	return notes
}
