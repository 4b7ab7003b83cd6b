package parquetfile

import (
	"math/bits"
)

// Column is a node of the schema.
type Column struct {
	Name     string
	Children []*Column // nil for a leaf
	Kind     Kind      // of a leaf
	Meaning  Meaning
	Unit     TimeUnit // of a Timestamp
	UTC      bool     // a Timestamp counts from 1970 in UTC, and not on the clock of an unnamed place
	Optional bool
	Repeated bool
	// MaxRep and MaxDef are the levels of a value that is present: the numbers of repeated nodes, and of repeated or
	// optional nodes, on its path.
	MaxRep, MaxDef int
	index          int // among the leaves
}

// Leaf reports whether the column holds values.
func (c *Column) Leaf() bool { return c.Children == nil }

// Child returns the child with this name, nil if there is none.
func (c *Column) Child(name string) *Column {
	for _, child := range c.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

func (c *Column) repBits() int { return bits.Len(uint(c.MaxRep)) }
func (c *Column) defBits() int { return bits.Len(uint(c.MaxDef)) }

const maxSchemaDepth = 64

// schemaBuilder builds the tree from the list of nodes.
type schemaBuilder struct {
	rest    []element
	orphans int // nodes that are not yet children of a group
	leaves  []*Column
}

func newSchemaBuilder(schema []element) *schemaBuilder {
	return &schemaBuilder{rest: schema, orphans: len(schema) - 1, leaves: make([]*Column, 0, len(schema))}
}

func (b *schemaBuilder) build(parent *Column, depth int) (*Column, error) {
	if len(b.rest) == 0 || depth > maxSchemaDepth {
		return nil, damaged("its schema has %d levels or is cut off", depth)
	}
	e := b.rest[0]
	b.rest = b.rest[1:]
	c := &Column{Name: e.name, Kind: e.kind, Meaning: e.meaning, Unit: e.unit, UTC: e.utc}
	if parent != nil {
		c.MaxRep, c.MaxDef = parent.MaxRep, parent.MaxDef
		switch e.repetition {
		case 0:
		case 1:
			c.Optional, c.MaxDef = true, c.MaxDef+1
		case 2:
			c.Repeated, c.MaxRep, c.MaxDef = true, c.MaxRep+1, c.MaxDef+1
		default:
			return nil, damaged("column %q has repetition %d", e.name, e.repetition)
		}
	}
	if e.leaf && e.children == 0 {
		if e.kind == Int96 { // has no other use
			c.Meaning, c.Unit, c.UTC = Timestamp, Microsecond, true
		}
		c.index = len(b.leaves)
		b.leaves = append(b.leaves, c)
		return c, nil
	}
	if e.children < 0 || e.children > int64(b.orphans) {
		return nil, damaged("group %q of its schema has %d columns", e.name, e.children)
	}
	b.orphans -= int(e.children)
	c.Children = make([]*Column, 0, e.children)
	for range e.children {
		child, err := b.build(c, depth+1)
		if err != nil {
			return nil, err
		}
		c.Children = append(c.Children, child)
	}
	return c, nil
}
