package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/classlist"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// fever is a file of claims in FEVER's line format.
type fever struct {
	file    storage.Location
	group   string // key of the groups; "": none
	held    *textfile.MemoryBudget
	entries []part.Entry
	claims  []feverClaim
}

// feverClaim is the content of a line except id and label.
type feverClaim struct {
	text string
	sets [][]string // pages of each evidence set, sorted
	gold []string   // all of them, sorted
	line int
}

type feverSettings struct {
	File  part.Path `json:"file"`
	Group string    `json:"group,omitempty"` // key of a line that holds its group; "": none
	Rows  int       `json:"rows"`            // size of a sample that keeps the shares of the labels; 0: all instances
	Seed  uint64    `json:"seed"`            // of the sample
}

func newFever(ctx context.Context, s *part.Setup, settings map[string]any) (part.Source, error) {
	var cfg feverSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.File == "" || cfg.Rows < 0 {
		return nil, fmt.Errorf("file is %q and rows is %d", string(cfg.File), cfg.Rows)
	}
	src := &fever{file: s.Path(cfg.File), group: cfg.Group, held: s.Held}
	if err := s.File(ctx, "claims", src.file); err != nil {
		return nil, err
	}
	if err := src.read(ctx); err != nil {
		return nil, err
	}
	if len(src.entries) == 0 {
		return nil, &costs.DataError{File: src.file.String(), Msg: "has no claims"}
	}
	return src, src.draw(cfg.Rows, cfg.Seed)
}

// read reads the whole file.
func (f *fever) read(ctx context.Context) error {
	in, _, err := textfile.OpenAt(ctx, f.file)
	if err != nil {
		return dataerror.FromText(err)
	}
	defer in.Close()
	text, err := textfile.Decode(f.file.String(), in, false)
	if err != nil {
		return dataerror.FromText(err)
	}
	lines := textfile.NewLines(f.file.String(), text)
	first := make(map[string]int)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return dataerror.FromText(err)
		}
		if err := f.add(line, lines.Number(), first); err != nil {
			return err
		}
	}
}

// add checks and keeps one line.
func (f *fever) add(line []byte, n int, first map[string]int) error {
	bad := func(column, format string, args ...any) error {
		return &costs.DataError{File: f.file.String(), Row: n, Column: column, Msg: fmt.Sprintf(format, args...)}
	}
	var raw struct {
		ID       json.RawMessage `json:"id"`
		Label    *string         `json:"label"`
		Claim    *string         `json:"claim"`
		Evidence json.RawMessage `json:"evidence"`
	}
	if err := strictjson.Unmarshal(line, &raw); err != nil {
		return bad("", "is not a claim: %v", strictjson.InLine(err))
	}
	id, err := feverID(raw.ID)
	switch at, known := first[id]; {
	case err != nil:
		return bad("id", "%v", err)
	case known:
		return bad("id", "%q is a duplicate of row %d", textfile.Short(id), at)
	case raw.Claim == nil || strings.TrimSpace(*raw.Claim) == "":
		return bad("claim", "is missing or empty")
	case raw.Label == nil:
		return bad("label", "is missing")
	}
	label, ok := classlist.FeverLabel(*raw.Label)
	if !ok {
		return bad("label", "unknown label %q; known are SUPPORTS, REFUTES and NOT ENOUGH INFO", textfile.Short(*raw.Label))
	}
	sets, err := feverEvidence(raw.Evidence)
	if err != nil {
		return bad("evidence", "%v", err)
	}
	group, err := f.groupOf(line)
	if err != nil {
		return bad(f.group, "%v", err)
	}
	if err := f.held.Add(int64(len(line)) + claimBytes); err != nil {
		return part.InRow(f.file.String(), n, err)
	}
	first[id] = n
	f.entries = append(f.entries, part.Entry{ID: id, Label: label, Group: group})
	f.claims = append(f.claims, feverClaim{*raw.Claim, sets, distinct(slices.Concat(sets...)), n})
	return nil
}

// claimBytes is about the memory of a claim without its texts, in the entries, the claims and the map of ids.
const claimBytes = 300

// groupOf reads the group of a line, a string or an integer.
func (f *fever) groupOf(line []byte) (string, error) {
	if f.group == "" {
		return "", nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		return "", strictjson.InLine(err)
	}
	return feverID(keys[f.group])
}

// feverID reads an id or a group, which is an integer or a string.
func feverID(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", errors.New("is missing")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return "", errors.New("is empty")
		}
		return text, nil
	}
	var number int64
	if err := json.Unmarshal(raw, &number); err != nil {
		return "", fmt.Errorf("%s is neither a string nor an integer", textfile.Short(string(raw)))
	}
	return fmt.Sprint(number), nil
}

// feverEvidence returns the pages of the sentences of every evidence set,
// sorted; sets without pages are omitted. A sentence is [annotation, evidence,
// page, sentence]; the page of a claim that cannot be settled is null.
func feverEvidence(raw json.RawMessage) (sets [][]string, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var lists [][][]json.RawMessage
	if err := json.Unmarshal(raw, &lists); err != nil {
		return nil, errors.New("is not a list of sets of sentences")
	}
	for _, list := range lists {
		var pages []string
		for _, sentence := range list {
			if len(sentence) != 4 {
				return nil, fmt.Errorf("a sentence has %d parts, not 4", len(sentence))
			}
			var page *string
			if err := json.Unmarshal(sentence[2], &page); err != nil {
				return nil, fmt.Errorf("page %s is not a string", textfile.Short(string(sentence[2])))
			}
			if page != nil && *page != "" {
				pages = append(pages, *page)
			}
		}
		if len(pages) > 0 {
			sets = append(sets, distinct(pages))
		}
	}
	return sets, nil
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// draw keeps a sample of the claims in the order of the file. Labels have the same shares in the sample as in the file.
func (f *fever) draw(rows int, seed uint64) error {
	if rows == 0 || rows == len(f.entries) {
		return nil
	}
	if rows > len(f.entries) {
		return &costs.DataError{File: f.file.String(), Msg: fmt.Sprintf("has %d claims, fewer than the %d to draw", len(f.entries), rows)}
	}
	labels := make([]string, len(f.entries))
	for n, e := range f.entries {
		labels[n] = e.Label
	}
	drawn := costs.DrawSplits(len(labels), labels, float64(rows)/float64(len(labels)), 0, seed)
	kept := 0
	for n, split := range drawn {
		if split == costs.Val {
			f.entries[kept], f.claims[kept] = f.entries[n], f.claims[n]
			kept++
		}
	}
	f.entries, f.claims = f.entries[:kept], f.claims[:kept]
	return nil
}

// Entries returns the claims in the order of the file.
func (f *fever) Entries() []part.Entry { return f.entries }

// Evidence returns the pages of every evidence set of a claim.
func (f *fever) Evidence(row int) [][]string { return f.claims[row].sets }

// Columns returns nil.
func (f *fever) Columns() *part.Columns { return nil }

// Load returns claims; nothing is copied.
func (f *fever) Load(_ context.Context, rows []int) ([]part.Instance, error) {
	out := make([]part.Instance, len(rows))
	for n, i := range rows {
		c := f.claims[i]
		out[n] = part.Instance{Entry: f.entries[i], Text: c.text, Gold: c.gold, Line: c.line, Row: i}
	}
	return out, nil
}
