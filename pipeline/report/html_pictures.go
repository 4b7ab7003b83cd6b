package report

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"

	"pipe/internal/safetext"
)

// pageAlbum has the pictures of one method at one lambda on the page.
type pageAlbum struct {
	Title string
	Pairs []pagePair
}

type pagePair struct {
	Title    string
	Pictures []pagePicture
}

type pagePicture struct {
	URL         template.URL
	Alt, Answer string
	Wrong       bool
}

// albums returns the pictures that are in the album, by method and lambda.
func (r *Report) albums() []pageAlbum {
	if r.Album == nil {
		return nil
	}
	var out []pageAlbum
	for _, p := range r.Pictures {
		title := fmt.Sprintf("Images by pair: %s at lambda %g", p.Method, p.Lambda)
		if p.Setting != "" {
			title = fmt.Sprintf("%s (%s)", title, p.Setting)
		}
		pair := pagePair{Title: fmt.Sprintf("%s, %s: %s %% of the rows", p.Expert, p.Advice, percent(&p.Routed))}
		for _, s := range p.Shown {
			if b := r.Album.JPEG[s.ID]; b != nil {
				pair.Pictures = append(pair.Pictures, s.page(b, r.Album.Names))
			}
		}
		if len(pair.Pictures) == 0 {
			continue
		}
		if len(out) == 0 || out[len(out)-1].Title != title {
			out = append(out, pageAlbum{Title: title})
		}
		last := &out[len(out)-1]
		last.Pairs = append(last.Pairs, pair)
	}
	return out
}

// page is the picture with its JPEG inline and readable names of labels.
func (p Picture) page(jpeg []byte, names map[string]string) pagePicture {
	answer := safetext.Line(cmp.Or(names[p.Answer], p.Answer))
	return pagePicture{
		URL:    template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(jpeg)),
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
