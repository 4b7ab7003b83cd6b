package decisionlog

import (
	"math"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/parquetfile"
)

// cell is one value of a column: a text, an integer, a truth value (0, 1) or a number.
type cell struct {
	text   string
	int    int64
	number float64
	null   bool
}

// field is a column of the Parquet form of rows of type T: how its values are taken from a row and put into one.
type field[T any] struct {
	name  string
	kind  parquetfile.Kind
	time  bool // an Int64 that counts microseconds
	coded bool // by a dictionary
	list  bool
	// nullable columns may have no value, or no list; elements that are nullable may have none inside a list.
	nullable, elements bool

	count func(r *T) int // values of a row; -1: null. nil: 1
	get   func(r *T, i int) cell
	size  func(r *T, n int) // makes room for a list; nil: the list is not read back
	set   func(r *T, i int, c cell)
	wide  func(r *T) *[]float32 // instead of the four above, for long lists of floats
}

// levels are the definition levels of a field: of an empty list, and of a value.
func (f *field[T]) levels() (empty, value int) {
	if f.nullable {
		empty++
	}
	value = empty
	if f.list {
		value++
	}
	if f.elements {
		value++
	}
	return empty, value
}

func (f *field[T]) node() parquet.Node {
	var n parquet.Node
	switch {
	case f.kind == parquetfile.ByteArray && f.coded:
		n = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case f.kind == parquetfile.ByteArray:
		n = parquet.Encoded(parquet.String(), &parquet.Plain)
	case f.time:
		n = parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.Plain)
	case f.kind == parquetfile.Boolean:
		n = parquet.Leaf(parquet.BooleanType)
	case f.kind == parquetfile.Int32:
		n = parquet.Encoded(parquet.Leaf(parquet.Int32Type), &parquet.Plain)
	case f.kind == parquetfile.Int64:
		n = parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.Plain)
	case f.kind == parquetfile.Float:
		n = parquet.Encoded(parquet.Leaf(parquet.FloatType), &parquet.Plain)
	default:
		n = parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.Plain)
	}
	if f.elements {
		n = parquet.Optional(n)
	}
	if f.list {
		n = parquet.List(n)
	}
	if f.nullable {
		n = parquet.Optional(n)
	}
	return n
}

// value is a cell as the library takes it.
func (f *field[T]) value(c cell) parquet.Value {
	switch f.kind {
	case parquetfile.ByteArray:
		return parquet.ByteArrayValue([]byte(c.text))
	case parquetfile.Boolean:
		return parquet.BooleanValue(c.int != 0)
	case parquetfile.Int32:
		return parquet.Int32Value(int32(c.int))
	case parquetfile.Int64:
		return parquet.Int64Value(c.int)
	case parquetfile.Float:
		return parquet.FloatValue(float32(c.number))
	}
	return parquet.DoubleValue(c.number)
}

// The constructors of fields of one value.

func textField[T any](name string, coded bool, at func(r *T) *string) field[T] {
	return field[T]{
		name: name, kind: parquetfile.ByteArray, coded: coded,
		get: func(r *T, _ int) cell { return cell{text: *at(r)} },
		set: func(r *T, _ int, c cell) { *at(r) = c.text },
	}
}

func intField[T any](name string, at func(r *T) *int) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Int32,
		get: func(r *T, _ int) cell { return cell{int: int64(*at(r))} },
		set: func(r *T, _ int, c cell) { *at(r) = int(c.int) },
	}
}

func longField[T any](name string, at func(r *T) *int64) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Int64,
		get: func(r *T, _ int) cell { return cell{int: *at(r)} },
		set: func(r *T, _ int, c cell) { *at(r) = c.int },
	}
}

func boolField[T any](name string, at func(r *T) *bool) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Boolean,
		get: func(r *T, _ int) cell { return boolCell(*at(r)) },
		set: func(r *T, _ int, c cell) { *at(r) = c.int != 0 },
	}
}

func boolCell(v bool) cell {
	if v {
		return cell{int: 1}
	}
	return cell{}
}

func numberField[T any](name string, at func(r *T) *float64) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Double,
		get: func(r *T, _ int) cell { return cell{number: *at(r)} },
		set: func(r *T, _ int, c cell) { *at(r) = c.number },
	}
}

// The constructors of lists.

func numbersField[T any](name string, at func(r *T) *[]float64) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Double, list: true,
		count: func(r *T) int { return len(*at(r)) },
		get:   func(r *T, i int) cell { return cell{number: (*at(r))[i]} },
		size:  func(r *T, n int) { *at(r) = make([]float64, n) },
		set:   func(r *T, i int, c cell) { (*at(r))[i] = c.number },
	}
}

func boolsField[T any](name string, at func(r *T) *[]bool) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Boolean, list: true,
		count: func(r *T) int { return len(*at(r)) },
		get:   func(r *T, i int) cell { return boolCell((*at(r))[i]) },
		size:  func(r *T, n int) { *at(r) = make([]bool, n) },
		set:   func(r *T, i int, c cell) { (*at(r))[i] = c.int != 0 },
	}
}

// pairsField is a list with a number per pair: null for nil, and null elements for NaN.
func pairsField[T any](name string, at func(r *T) *[]float32) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Float, list: true, nullable: true, elements: true,
		count: func(r *T) int {
			if *at(r) == nil {
				return -1
			}
			return len(*at(r))
		},
		get: func(r *T, i int) cell {
			v := float64((*at(r))[i])
			return cell{number: v, null: v != v}
		},
		size: func(r *T, n int) { *at(r) = make([]float32, n) },
		set: func(r *T, i int, c cell) {
			if c.null {
				c.number = math.NaN()
			}
			(*at(r))[i] = float32(c.number)
		},
	}
}

// partField is one part of the elements of a list of structures, which the Parquet form has as lists side by side.
func partField[T, E any](name string, kind parquetfile.Kind, at func(r *T) *[]E, get func(e *E) cell, set func(e *E, c cell)) field[T] {
	return field[T]{
		name: name, kind: kind, list: true, coded: kind == parquetfile.ByteArray,
		count: func(r *T) int { return len(*at(r)) },
		get:   func(r *T, i int) cell { return get(&(*at(r))[i]) },
		size: func(r *T, n int) {
			if n != len(*at(r)) {
				*at(r) = make([]E, n)
			}
		},
		set: func(r *T, i int, c cell) { set(&(*at(r))[i], c) },
	}
}
