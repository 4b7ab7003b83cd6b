package report

import (
	"cmp"
	"fmt"

	"pipe/internal/safetext"
	"pipe/pipeline/report/page"
)

// albums returns the pictures that are in the album, by method and lambda.
func (r *Report) albums() []page.Album {
	if r.Album == nil {
		return nil
	}
	var out []page.Album
	for _, p := range r.Pictures {
		title := fmt.Sprintf("Images by pair: %s at lambda %g", p.Method, p.Lambda)
		if p.Setting != "" {
			title = fmt.Sprintf("%s (%s)", title, p.Setting)
		}
		pair := page.Group{Title: fmt.Sprintf("%s, %s: %s %% of the rows", p.Expert, p.Advice, percent(&p.Routed))}
		for _, s := range p.Shown {
			if b := r.Album.JPEG[s.ID]; b != nil {
				pair.Pictures = append(pair.Pictures, s.page(b, r.Album.Names))
			}
		}
		if len(pair.Pictures) == 0 {
			continue
		}
		if len(out) == 0 || out[len(out)-1].Title != title {
			out = append(out, page.Album{Title: title, Caption: r.albumCaption()})
		}
		last := &out[len(out)-1]
		last.Groups = append(last.Groups, pair)
	}
	return out
}

// exampleAlbum has the pictures of examples that are in the album, nil if there are none.
func (r *Report) exampleAlbum() []page.Album {
	if r.Album == nil {
		return nil
	}
	out := page.Album{Title: "Images of these rows", Caption: "Below each what the chosen pair answers, wrong answers struck through."}
	for _, e := range r.Examples {
		g := page.Group{Title: e.title()}
		for _, s := range e.Shown {
			if b := r.Album.JPEG[s.ID]; b != nil {
				g.Pictures = append(g.Pictures, Picture{s.ID, s.Label, s.Policy.Answer, s.Policy.Loss}.page(b, r.Album.Names))
			}
		}
		if len(g.Pictures) > 0 {
			out.Groups = append(out.Groups, g)
		}
	}
	if len(out.Groups) == 0 {
		return nil
	}
	return []page.Album{out}
}

// page is the picture with its JPEG inline and readable names of labels.
func (p Picture) page(jpeg []byte, names map[string]string) page.Picture {
	answer := safetext.Line(cmp.Or(names[p.Answer], p.Answer))
	return page.Picture{
		JPEG:   jpeg,
		Alt:    fmt.Sprintf("%s, label %s, answer %s", safetext.Line(p.ID), safetext.Line(cmp.Or(names[p.Label], p.Label)), answer),
		Answer: answer, Wrong: p.Loss > 0,
	}
}

// albumCaption explains the pictures.
func (r *Report) albumCaption() string {
	text := "Some of the reported instances that the method sends to each pair, evenly over them; below each what the pair answers, wrong answers struck through. The first seed decides."
	if r.splits() > 1 {
		text += " Split 0 of several."
	}
	return text
}
