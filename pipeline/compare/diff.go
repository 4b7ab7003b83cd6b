package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/costs/grow"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/pipeline/stage"
)

// DiffResult is the result of Diff. It is the JSON object of pipe diff --json.
type DiffResult struct{ grow.DiffReport }

// DifferentError says that two tensors differ. It is no failure: the result says what differs.
type DifferentError struct{ Aspects []string }

func (e *DifferentError) Error() string {
	return "the tensors differ in " + strings.Join(e.Aspects, ", ")
}

// Diff compares two cost tensors; see grow.Diff. A tensor that cannot be read is a *costs.DataError.
func Diff(ctx context.Context, a, b storage.Location, ignore []string, progress stage.Progress) (*DiffResult, error) {
	r, err := grow.Diff(ctx, a, b, grow.DiffOptions{Ignore: ignore, Progress: stage.OrQuiet(progress)})
	var access *fs.PathError
	switch {
	case err == nil:
		return &DiffResult{*r}, nil
	case errors.As(err, &access): // exit code 1 would say that the tensors differ
		return nil, &costs.DataError{Err: err}
	}
	return nil, err
}

// Verdict is nil if the tensors are equal, else a *DifferentError.
func (r *DiffResult) Verdict() error {
	if r.Equal {
		return nil
	}
	return &DifferentError{r.Different}
}

// WriteText writes the result for a terminal.
func (r *DiffResult) WriteText(w io.Writer) error {
	verdict := "equal"
	if !r.Equal {
		verdict = "different in " + strings.Join(r.Different, ", ")
	}
	b := safetext.Titled(r.A.File+", "+r.B.File, verdict)
	b.Add("ignored", "%s", strings.Join(r.Ignored, ", "))
	b.Add("rows", "%d and %d; %d in both%s", r.A.Rows, r.B.Rows, r.Both, map[bool]string{true: ", in another order"}[r.OtherOrder])
	for _, side := range []grow.DiffSide{r.A, r.B} {
		if side.Only.Rows > 0 {
			ids := strings.Join(side.Only.IDs, ", ")
			if side.Only.Rows > len(side.Only.IDs) {
				ids += ", ..."
			}
			b.Add("only in", "%s: %d (%s)", side.File, side.Only.Rows, ids)
		}
	}
	b.Add("actions", "%s", r.Actions)
	for _, f := range r.Fees {
		b.Add("fee", "%s %s: %g, then %g", f.Kind, f.Name, f.A, f.B)
	}
	for _, group := range []struct {
		name    string
		changes []grow.Change
	}{{"features", r.Features}, {"column", r.Columns}, {"provenance", r.Provenance}, {"metadata", r.Metadata}} {
		for _, c := range group.changes {
			b.Add(group.name, "%s: %s, then %s", c.What, orNothing(c.A), orNothing(c.B))
		}
	}
	for _, c := range r.Values {
		b.Add(c.Column, "%s", valueLine(c))
	}
	if err := b.WriteText(w); err != nil {
		return err
	}
	return r.writePairs(w)
}

func orNothing(s string) string {
	if s == "" {
		return "none"
	}
	return textfile.Short(s)
}

func valueLine(c grow.ColumnChange) string {
	show := func(v grow.ValueChange) string {
		pair := ""
		if v.Pair != "" {
			pair = " (" + v.Pair + ")"
		}
		return fmt.Sprintf("%s %s%s: %s, then %s", v.ID, v.Column, pair, v.A, v.B)
	}
	unknown := ""
	if c.Unknown > 0 {
		unknown = fmt.Sprintf(", %d of them known in only one", c.Unknown)
	}
	line := fmt.Sprintf("%d values in %d rows%s; first %s", c.Values, c.Rows, unknown, show(c.First[0]))
	if c.Largest != nil && c.Values > 1 {
		line += "; largest difference " + show(*c.Largest)
	}
	return line
}

// writePairs writes the mean loss of every pair in both tensors.
func (r *DiffResult) writePairs(w io.Writer) error {
	number := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.4f", *v)
	}
	rows := [][]string{{"pair", "mean loss", "then", "change", "rows"}}
	for _, p := range r.Pairs {
		rows = append(rows, []string{p.Pair, number(p.A), number(p.B), number(p.Change), strconv.Itoa(p.Rows)})
	}
	_, err := io.WriteString(w, "\n"+safetext.Table(rows))
	return err
}
