package decisionlog

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// field is how a field of a structure is logged. Lines are written and read, and segments are read, by tables of fields, which
// are made once from the tags of the structures.
type field struct {
	key    string // in lines, with the marks of JSON around it
	column string // of segments
	index  int    // in the structure
	known  []int  // of the truth value that says whether there is a value; nil: there is one
	parts  []field
	same   bool
	later  bool
	base64 bool
}

var (
	recordFields  = fieldsOf(reflect.TypeFor[Record]())
	outcomeFields = fieldsOf(reflect.TypeFor[Outcome]())
)

// fieldsOf makes the table of a structure from its tags. The tag log has the key in lines, and options:
//
//	same    most records have the value of the one before, so that its text is compared before it is read; only in Record
//	later   lines and segments of earlier versions lack it, and so do lines whose record has no such value
//	base64  a list of numbers is written as one text
//
// The tag parquet has the name of the column, and is that of the library where it writes the structure. Each of the two tags
// stands for both names where it is alone. A field X beside a field XKnown, and a structure with a field Known, is null where
// that is false.
func fieldsOf(t reflect.Type) (fields []field) {
	for i := range t.NumField() {
		in := t.Field(i)
		tag := strings.Split(cmp.Or(in.Tag.Get("log"), nameOf(in)), ",")
		if tag[0] == "" {
			continue
		}
		f := field{key: `,"` + tag[0] + `":`, column: nameOf(in), index: i, known: knownOf(t, in), parts: partsOf(in.Type)}
		if len(fields) == 0 {
			f.key = `{"` + tag[0] + `":`
		}
		f.same, f.later, f.base64 = slices.Contains(tag, "same"), slices.Contains(tag, "later"), slices.Contains(tag, "base64")
		fields = append(fields, f)
	}
	return fields
}

// nameOf is the name of the column of a field.
func nameOf(f reflect.StructField) string {
	column, _, _ := strings.Cut(cmp.Or(f.Tag.Get("parquet"), f.Tag.Get("log")), ",")
	return column
}

// knownOf finds the truth value that says whether a field of a structure has a value.
func knownOf(t reflect.Type, f reflect.StructField) []int {
	if known, ok := t.FieldByName(f.Name + "Known"); ok {
		return known.Index
	}
	if f.Type.Kind() == reflect.Struct {
		if known, ok := f.Type.FieldByName("Known"); ok {
			return append(f.Index, known.Index...)
		}
	}
	return nil
}

// partsOf are the fields of a structure, or of the elements of a list of structures.
func partsOf(t reflect.Type) []field {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return fieldsOf(t)
}

// bound is a field of one structure in memory. Reflection takes longer than a short value does, so that a structure that is used
// again and again is bound once.
type bound struct {
	*field
	at    any     // points to the value
	known *bool   // nil: there is one
	parts []bound // of a structure
}

func bind(fields []field, in reflect.Value) []bound {
	list := make([]bound, len(fields))
	for i := range fields {
		f := &fields[i]
		v := in.Field(f.index)
		list[i] = bound{field: f, at: v.Addr().Interface()}
		if f.known != nil {
			list[i].known = in.FieldByIndex(f.known).Addr().Interface().(*bool)
		}
		if v.Kind() == reflect.Struct {
			list[i].parts = bind(f.parts, v)
		}
	}
	return list
}

// none reports whether there is no value for a field that may have none.
func (b *bound) none() bool {
	if b.known != nil {
		return !*b.known
	}
	switch at := b.at.(type) {
	case *float64:
		return *at == ShareUnknown
	case *[]float64:
		return !slices.ContainsFunc(*at, func(v float64) bool { return v != 0 })
	}
	return reflect.ValueOf(b.at).Elem().IsZero()
}

// setNone makes a field have no value.
func (b *bound) setNone() {
	if b.known != nil {
		*b.known = false
	}
	switch at := b.at.(type) {
	case *float64:
		*at = 0
		if b.later {
			*at = ShareUnknown
		}
	case *[]float64:
		*at = nil
	default:
		reflect.ValueOf(b.at).Elem().SetZero()
	}
}

// place is where the values of a column are: in a field, or in a part of its structures.
type place struct{ field, part *field }

// placeOf finds the place of a column. Some columns have none: they repeat what others say.
func placeOf(column string, fields []field) (p place, ok bool) {
	for i := range fields {
		f := &fields[i]
		if f.column == column {
			return place{f, nil}, true
		}
		for j := range f.parts {
			if f.parts[j].column == column {
				return place{f, &f.parts[j]}, true
			}
		}
	}
	return place{}, false
}

// in returns the value of a row, or of an element of its list, which gets longer where it is too short.
func (p place) in(row reflect.Value, element int) reflect.Value {
	v := row.Field(p.field.index)
	if p.part == nil {
		return v
	}
	if v.Kind() == reflect.Slice {
		if missing := element + 1 - v.Len(); missing > 0 {
			v.Grow(missing)
			v.SetLen(element + 1)
		}
		v = v.Index(element)
	}
	return v.Field(p.part.index)
}
