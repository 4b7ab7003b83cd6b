package parquetfile

import (
	"fmt"
	"slices"
	"strings"
)

// Find returns the column of values at or below a top-level column: single values or, with list, one list of them per
// row, of one of the kinds. Lists are recognised by their levels, not by the names inside, because writers use
// different names (list/element, list/item, bag/array_element). listDef is the definition level of a list with an
// element; one below it is an empty list, and anything lower a null list. The error states the actual and the expected
// type.
func (c *Column) Find(list bool, kinds ...Kind) (values *Column, listDef int, err error) {
	c, listDef, err = c.onlyLeaf(list, expected(list, kinds))
	if err != nil {
		return nil, 0, err
	}
	if !slices.Contains(kinds, c.Kind) {
		return nil, 0, fmt.Errorf("has values of type %s, expected %s", c.Kind, expected(list, kinds))
	}
	switch c.Meaning {
	case Decimal, Date, Time, Timestamp:
		return nil, 0, fmt.Errorf("holds decimals, dates or times, expected %s", expected(list, kinds))
	}
	return c, listDef, nil
}

// onlyLeaf returns the single leaf at or below a column that holds what is wanted.
func (c *Column) onlyLeaf(list bool, wanted string) (leaf *Column, listDef int, err error) {
	def := 0
	for {
		if c.Optional || c.Repeated {
			def++
		}
		if c.Repeated {
			listDef = def
		}
		if c.Leaf() {
			break
		}
		if len(c.Children) != 1 {
			return nil, 0, fmt.Errorf("is a group of %d columns, expected %s", len(c.Children), wanted)
		}
		c = c.Children[0]
	}
	if want := map[bool]int{false: 0, true: 1}[list]; c.MaxRep != want {
		return nil, 0, fmt.Errorf("has %d levels of lists, expected %s", c.MaxRep, wanted)
	}
	return c, listDef, nil
}

// expected names the kinds for an error.
func expected(list bool, kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = strings.ToLower(k.String())
		if k == ByteArray {
			names[i] = "string"
		}
	}
	what := strings.Join(names, " or ")
	if slices.Contains(kinds, Int64) && !slices.Contains(kinds, Float) {
		what = "string or integer"
	}
	if list {
		return "a list of " + what
	}
	return what
}
