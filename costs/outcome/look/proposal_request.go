package look

import (
	"fmt"
	"slices"
	"strings"

	"pipe/internal/textfile"
)

// The limits of features that are proposed.
const (
	mostCategories = 30 // values of a column that becomes one feature per value
	shortText      = 12 // characters: longer texts are read, shorter ones are names
)

// request says what the columns besides used ones say of a request. leak says why a column may give the answer away, "" if not. Of a
// table that the user gave as known before, only answers are left out.
func (t *Table) request(id *Column, used map[string]bool, known bool, leak func(*Column) string) (r Request) {
	leave := func(c *Column, format string, args ...any) {
		r.Left = append(r.Left, Left{c.Name, fmt.Sprintf(format, args...)})
	}
	once := t.unique(id)
	for _, c := range t.Columns {
		switch {
		case used[c.Name] || c == id:
		case t.divided(c):
			leave(c, "has fields that are columns too")
		case c.Kind == Unread:
			leave(c, "%s", c.Why)
		case c.Kind == Empty:
			leave(c, "is empty")
		case !once && !t.constant(id, c):
			leave(c, "differs between the answers to one request")
		case c.Missing > 0:
			leave(c, "is empty in %d of %d rows", c.Missing, t.Rows)
		case r.takes(c):
		case likeAny(c.Name, answerWords) || later(c.Name) && !known:
			leave(c, "seems to be known only after the answer")
		case c.Distinct == 1:
			leave(c, "has the same value in each row")
		case c.Kind == Integer && c.Distinct > 2 && c.Max-c.Min == float64(c.Distinct-1) && c.Distinct == id.Distinct && c.ordered():
			leave(c, "counts the rows")
		case strings.HasPrefix(c.Name, "__index_level_"):
			leave(c, "is the index of a frame of pandas")
		case likeAny(c.Name, []string{"id", "uuid", "key"}):
			leave(c, "names something")
		default:
			why := leak(c)
			if why == "" {
				why = r.feature(c)
			}
			if why != "" {
				leave(c, "%s", why)
			}
		}
	}
	return r
}

// divided reports whether the fields of a column are columns too, as a.b is one of a.
func (t *Table) divided(c *Column) bool {
	return slices.ContainsFunc(t.Columns, func(o *Column) bool { return strings.HasPrefix(o.Name, c.Name+".") })
}

// takes takes a column that is a property of a request but no feature.
func (r *Request) takes(c *Column) bool {
	few := c.Values != nil
	for _, role := range []struct {
		to    *string
		words []string
		fits  bool
	}{
		{&r.Time, []string{"time", "timestamp", "date", "created", "created_at", "asked", "at"}, c.Kind == Time},
		{&r.Split, splitWords, few && splits(c.Values) != nil},
		{&r.Group, groupWords, c.Kind != Number && c.Kind != List},
		{&r.Label, labelWords, few && c.Kind != List},
		{&r.Reference, referenceWords, c.Kind != List},
	} {
		if *role.to == "" && role.fits && likeAny(c.Name, role.words) {
			*role.to = c.Name
			return true
		}
	}
	return false
}

// splits are the names of the splits that words stand for, nil if one of them stands for none.
func splits(words []string) map[string]string {
	known := map[string]string{
		"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val", "test": "test", "testing": "test", "eval": "test",
	}
	names := map[string]string{}
	for _, w := range words {
		if names[w] = known[plain(w)]; names[w] == "" {
			return nil
		}
	}
	return names
}

// feature takes a column as a feature, or says why not.
func (r *Request) feature(c *Column) (why string) {
	switch {
	case c.numeric():
		r.Numbers = append(r.Numbers, c.Name)
	case c.Kind == List && r.List == "":
		r.List = c.Name
	case c.Kind == List:
		return "is another list of numbers"
	case c.Kind == Time || c.dated:
		return "is a time"
	case c.odd != "":
		r.odd = append(r.odd, c.Name)
		return "has numbers and " + textfile.Quoted(c.odd)
	case c.Values != nil && c.Distinct <= mostCategories:
		r.Categorical = append(r.Categorical, c.Name)
	case c.Length >= shortText:
		r.Length = append(r.Length, c.Name)
	default:
		return fmt.Sprintf("has %d different texts", c.Distinct)
	}
	return ""
}

// ordered reports whether the numbers of the values rise with the rows.
func (c *Column) ordered() bool { return slices.IsSorted(c.codes) }
