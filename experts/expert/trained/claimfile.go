package trained

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/classlist"
	"pipe/experts/retrieval/pagename"
	"pipe/internal/textfile"
)

// claimFile is a table of training claims, with a row for each pair of a claim and
// a sentence that settles it.
type claimFile struct {
	File     part.Path `json:"train"`
	Claim    string    `json:"claim"`    // name of a column, like the next two
	Label    string    `json:"label"`    //
	Sentence string    `json:"sentence"` // the evidence; empty if nothing settles the claim
}

func defaultClaimFile() claimFile {
	return claimFile{Claim: "claim", Label: "label", Sentence: "sentence"}
}

// claim is one row of a claimFile.
type claim struct {
	Text     string
	Class    int
	Sentence string // "" if nothing settles it
}

// normal is the normalised text by which claims are compared.
func normal(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// read returns the rows whose normalised claims are not in routed, and the number
// of other rows, which it drops. Labels may have FEVER's spellings. A row without a
// sentence has the label unsettled.
func (f *claimFile) read(ctx context.Context, s *part.Setup, unsettled string, routed map[string]bool) (list []claim, dropped int, err error) {
	if f.File == "" {
		return nil, 0, errors.New("train: not set")
	}
	path := s.Path(f.File)
	if err = s.File(ctx, "claims", path); err != nil {
		return nil, 0, err
	}
	texts := textfile.NewTexts(s.Held)
	err = part.EachRow(ctx, path, func(have *part.Columns) ([]string, error) {
		names := []string{f.Claim, f.Label, f.Sentence}
		_, err := have.At(names...)
		return names, err
	}, func(cells []string, line int) error {
		if routed[normal(cells[0])] {
			dropped++
			return nil
		}
		c, bad := f.parse(cells[0], cells[1], cells[2], s.Labels, unsettled)
		if bad != nil {
			bad.File, bad.Row = path.String(), line
			return bad
		}
		for _, text := range []*string{&c.Text, &c.Sentence} {
			if *text, err = texts.Keep(*text); err != nil {
				return err
			}
		}
		list = append(list, c)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return list, dropped, nil
}

// parse checks one row.
func (f *claimFile) parse(text, label, sentence string, labels []string, unsettled string) (claim, *costs.DataError) {
	bad := func(column, format string, args ...any) (claim, *costs.DataError) {
		return claim{}, &costs.DataError{Column: column, Msg: fmt.Sprintf(format, args...)}
	}
	if strings.TrimSpace(text) == "" {
		return bad(f.Claim, "is empty")
	}
	class := slices.Index(labels, label)
	if known, ok := classlist.FeverLabel(label); ok && class < 0 {
		class = slices.Index(labels, known)
	}
	if class < 0 {
		return bad(f.Label, "unknown label %q; known are %s", label, textfile.Listed(labels, part.NamesShown))
	}
	sentence = strings.TrimSpace(pagename.Unescape(sentence))
	switch settles := labels[class] != unsettled; {
	case settles && sentence == "":
		return bad(f.Sentence, "is empty, but the label is %q", label)
	case !settles && sentence != "":
		return bad(f.Sentence, "is not empty, but no sentence settles a claim with the label %q", label)
	}
	return claim{text, class, sentence}, nil
}
