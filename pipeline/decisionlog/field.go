package decisionlog

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// field is how a field of a structure is logged. Lines and segments are written and read by tables of fields, which are made
// once, so that the tags of the structures are the only list of what a log has.
type field struct {
	key    string // in lines, with the marks of JSON around it
	column string // of segments
	index  int    // in the structure
	kind   reflect.Kind
	known  []int // of the truth value that says whether there is a value; nil: there is one
	parts  []field
	same   bool
	later  bool
	base64 bool
}

var (
	recordFields  = fieldsOf(reflect.TypeFor[Record]())
	outcomeFields = fieldsOf(reflect.TypeFor[Outcome]())
)

// emptyRecord is a record in which nothing is stated.
var emptyRecord = reflect.ValueOf(&Record{Share: ShareUnknown}).Elem()

// fieldsOf makes the table of a structure from its tags. The tag log has the key in lines, and options:
//
//	same    most records have the same value as the one before, so that its text is compared before it is read
//	later   lines and segments of earlier versions lack it, and so do lines whose record has no such value
//	base64  a list of numbers is written as one text
//
// The tag parquet has the name of the column, and is that of the library where it writes the structure. Each of the two tags
// stands for both names where it is alone. A field that has another one beside it with the
// same name and Known, and a structure with a field Known, is null where that is false.
func fieldsOf(t reflect.Type) (fields []field) {
	for i := range t.NumField() {
		in := t.Field(i)
		tag := strings.Split(cmp.Or(in.Tag.Get("log"), nameOf(in)), ",")
		if tag[0] == "" {
			continue
		}
		f := field{key: `,"` + tag[0] + `":`, column: nameOf(in), index: i, kind: in.Type.Kind(), known: knownOf(t, in), parts: partsOf(in.Type)}
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

// list reports whether the field is a list of structures.
func (f *field) list() bool { return f.kind == reflect.Slice && f.parts != nil }

// none reports whether a structure has no value for the field.
func (f *field) none(in reflect.Value) bool {
	if f.known != nil {
		return !in.FieldByIndex(f.known).Bool()
	}
	if !f.later {
		return false
	}
	switch at := in.Field(f.index).Addr().Interface().(type) {
	case *float64:
		return *at == ShareUnknown
	case *[]float64:
		return !slices.ContainsFunc(*at, func(v float64) bool { return v != 0 })
	}
	return in.Field(f.index).IsZero()
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
