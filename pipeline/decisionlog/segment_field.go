package decisionlog

import (
	"math"

	"pipe/internal/parquetfile"
)

// cell is one value of a column: a text, an integer, a truth value (0, 1) or a number.
type cell struct {
	text   string
	int    int64
	number float64
	null   bool
}

// field is a column of the Parquet form of rows of type T: how its values are put into a row.
type field[T any] struct {
	name string
	kind parquetfile.Kind
	list bool
	// nullable columns may have no value, or no list; elements that are nullable may have none inside a list.
	nullable, elements bool
	// later columns are lacking in the files of earlier versions.
	later bool
	// none, if there is one, sets what a row has without a value.
	none func(r *T)

	size func(r *T, n int) // makes room for a list
	set  func(r *T, i int, c cell)
	wide func(r *T) *[]float32 // instead of both, for long lists of floats
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

// The constructors of fields of one value.

func textField[T any](name string, at func(r *T) *string) field[T] {
	return field[T]{
		name: name, kind: parquetfile.ByteArray,
		set: func(r *T, _ int, c cell) { *at(r) = c.text },
	}
}

func intField[T any](name string, at func(r *T) *int) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Int32,
		set: func(r *T, _ int, c cell) { *at(r) = int(c.int) },
	}
}

func longField[T any](name string, at func(r *T) *int64) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Int64,
		set: func(r *T, _ int, c cell) { *at(r) = c.int },
	}
}

func boolField[T any](name string, at func(r *T) *bool) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Boolean,
		set: func(r *T, _ int, c cell) { *at(r) = c.int != 0 },
	}
}

func numberField[T any](name string, at func(r *T) *float64) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Double,
		set: func(r *T, _ int, c cell) { *at(r) = c.number },
	}
}

// The constructors of lists.

func numbersField[T any](name string, at func(r *T) *[]float64) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Double, list: true,
		size: func(r *T, n int) { *at(r) = make([]float64, n) },
		set:  func(r *T, i int, c cell) { (*at(r))[i] = c.number },
	}
}

func boolsField[T any](name string, at func(r *T) *[]bool) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Boolean, list: true,
		size: func(r *T, n int) { *at(r) = make([]bool, n) },
		set:  func(r *T, i int, c cell) { (*at(r))[i] = c.int != 0 },
	}
}

// pairsField is a list with a number per pair: null for nil, and null elements for NaN.
func pairsField[T any](name string, at func(r *T) *[]float32) field[T] {
	return field[T]{
		name: name, kind: parquetfile.Float, list: true, nullable: true, elements: true,
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
func partField[T, E any](name string, kind parquetfile.Kind, at func(r *T) *[]E, set func(e *E, c cell)) field[T] {
	return field[T]{
		name: name, kind: kind, list: true,
		size: func(r *T, n int) {
			if n != len(*at(r)) {
				*at(r) = make([]E, n)
			}
		},
		set: func(r *T, i int, c cell) { set(&(*at(r))[i], c) },
	}
}
