package decisionlog

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// field describes how one field of a struct is written and read. The tables of fields are made once, from the struct tags.
// Writing and reading lines, and reading segments, go by these tables.
type field struct {
	key    string // in lines, with its quotes, comma and colon
	column string // of segments
	index  int    // in the struct
	known  []int  // index of the bool that says whether there is a value; nil: there always is
	parts  []field
	same   bool
	later  bool
	base64 bool
	zeros  bool
}

var (
	recordFields  = fieldsOf(reflect.TypeFor[Record]())
	outcomeFields = fieldsOf(reflect.TypeFor[Outcome]())
)

// fieldsOf makes the table of a struct from its tags. The tag log has the key in lines, and options:
//
//	same    most records have the value of the record before: its text is compared before it is parsed. Only in Record
//	later   earlier versions did not write the field, so it may be missing; without a value it is not written
//	base64  a list of numbers is written as one base64 text
//	zeros   a list of zeros is another value than none
//
// The tag parquet has the name of the column, and options of the Parquet library where the library writes the struct. If a field
// has only one of the two tags, its name holds for lines and columns. A field X is null if a bool field XKnown beside it is false.
// A struct is null if its field Known is false.
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
		f.same, f.later, f.base64, f.zeros = slices.Contains(tag, "same"), slices.Contains(tag, "later"), slices.Contains(tag, "base64"), slices.Contains(tag, "zeros")
		fields = append(fields, f)
	}
	return fields
}

// nameOf is the name of the column of a field.
func nameOf(f reflect.StructField) string {
	column, _, _ := strings.Cut(cmp.Or(f.Tag.Get("parquet"), f.Tag.Get("log")), ",")
	return column
}

// knownOf returns the index of the bool field that says whether a field has a value; nil if there is none.
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

// bound is a field of one struct in memory, with pointers to its values. Reflection is slower than writing a short value, so a
// struct that is used again and again is bound once.
type bound struct {
	*field
	at    any     // points to the value
	known *bool   // nil: there always is a value
	parts []bound // of a struct
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

// none reports whether a field that may be missing has no value.
func (b *bound) none() bool {
	if b.known != nil {
		return !*b.known
	}
	switch at := b.at.(type) {
	case *float64:
		return *at == ShareUnknown
	case *[]float64:
		return len(*at) == 0 || !b.zeros && !slices.ContainsFunc(*at, func(v float64) bool { return v != 0 })
	}
	return reflect.ValueOf(b.at).Elem().IsZero()
}

// setNone clears a field that may be missing.
func (b *bound) setNone() {
	if b.known != nil {
		*b.known = false
	}
	switch at := b.at.(type) {
	case *float64:
		*at = 0
		if b.later && b.known == nil {
			*at = ShareUnknown
		}
	case *[]float64:
		*at = nil
	default:
		reflect.ValueOf(b.at).Elem().SetZero()
	}
}

// place says where the values of a column are: in a field, or in a part of the structs of a field.
type place struct{ field, part *field }

// placeOf finds the place of a column. Columns such as expert have none: they repeat other columns for the reader.
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

// in returns the value of a row, or of an element of its list. It extends a list that is too short.
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
