package eval

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rivo/uniseg"

	"pipe/internal/tablefile"
	"pipe/pipeline/report"
)

// mostCharacters of a text are shown, in at most mostBytes.
const mostCharacters, mostBytes = 300, 4000

// texts adds texts to the examples of a report, from the table that the user named.
func (o Options) texts(ctx context.Context, r *report.Report) error {
	wanted := map[string]string{}
	for _, x := range r.Examples {
		for _, s := range x.Shown {
			wanted[s.ID] = ""
		}
	}
	found, several, err := o.readTexts(ctx, wanted)
	if err != nil {
		return err
	}
	for _, x := range r.Examples {
		for i := range x.Shown {
			x.Shown[i].Text = wanted[x.Shown[i].ID]
		}
	}
	if found < len(wanted) {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of the %d rows that are shown have no text in %s.", len(wanted)-found, len(wanted), o.Texts))
	}
	if several > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("Of %d of the rows that are shown %s has several texts; the first is shown.", several, o.Texts))
	}
	return nil
}

// readTexts fills in the texts of the wanted ids. It returns the number of ids in the table, and the number of ids with several
// texts, of which the first is used.
func (o Options) readTexts(ctx context.Context, wanted map[string]string) (found, several int, err error) {
	t, err := tablefile.Open(ctx, o.Texts)
	if err != nil {
		return 0, 0, fmt.Errorf("texts: %w", err)
	}
	defer t.Close()
	if err := t.Choose([]string{o.IDColumn, o.TextColumn}); err != nil {
		return 0, 0, fmt.Errorf("texts (their columns are named by --id-column and --text-column): %w", err)
	}
	seen, other := map[string]bool{}, map[string]bool{}
	cells := make([]tablefile.Cell, 2)
	for len(wanted) > 0 {
		_, err := t.Next(cells)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, 0, fmt.Errorf("texts: %w", err)
		}
		id := cells[0].String()
		if text, asked := wanted[id]; asked && !cells[1].Missing() {
			if here := shortened(cells[1].String()); !seen[id] {
				seen[id], wanted[id] = true, here
			} else if here != text {
				other[id] = true
			}
		}
	}
	return len(seen), len(other), nil
}

// shortened cuts a text between two characters, as readers see them.
func shortened(text string) string {
	rest, state, size := text, -1, 0
	for n := 0; rest != ""; n++ {
		var character string
		character, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if n == mostCharacters || size+len(character) > mostBytes {
			return text[:size] + "…"
		}
		size += len(character)
	}
	return text
}
