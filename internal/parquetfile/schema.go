package parquetfile

import (
	"math/bits"
)

// Column is a node of the schema.
type Column struct {
	Name     string
	Children []*Column // nil for a column of values
	Kind     Kind      // of a column of values
	Meaning  Meaning
	Optional bool
	Repeated bool
	// MaxRep and MaxDef are the levels of a value that is there: how many
	// repeated, and how many repeated or optional, nodes lead to it.
	MaxRep, MaxDef int
	index          int // among the columns of values
}

// Leaf reports whether the column has values of its own.
func (c *Column) Leaf() bool { return c.Children == nil }

// Child returns a column below this one by name, nil if there is none.
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

// schemaBuilder turns the list of nodes into a tree.
type schemaBuilder struct {
	rest    []element
	orphans int // nodes that no group has claimed as its children yet
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
	c := &Column{Name: e.name, Kind: e.kind, Meaning: e.meaning}
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
