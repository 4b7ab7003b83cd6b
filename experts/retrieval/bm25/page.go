package bm25

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"pipe/experts/retrieval/pagename"
	"pipe/internal/strictjson"
)

// Page is one page of a corpus.
type Page struct {
	ID   string // as the corpus spells it
	Text string // with brackets and colons unescaped
}

// parsePage reads one line of a wiki-pages file.
func parsePage(line []byte) (Page, error) {
	var raw struct {
		ID   *string `json:"id"`
		Text *string `json:"text"`
	}
	if err := strictjson.Unmarshal(line, &raw); err != nil {
		return Page{}, fmt.Errorf("is not a page: %w", strictjson.InLine(err))
	}
	switch {
	case raw.ID == nil:
		return Page{}, errors.New("the page has no id")
	case raw.Text == nil:
		return Page{}, errors.New("the page has no text")
	}
	page := Page{ID: *raw.ID, Text: strings.TrimSpace(*raw.Text)}
	if page.ID == "" && page.Text != "" {
		return Page{}, errors.New("the page has text and an empty id")
	}
	page.Text = pagename.Unescape(page.Text)
	return page, nil
}

// isBlank reports whether a line is to be skipped.
func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }
