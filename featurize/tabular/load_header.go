package tabular

import (
	"fmt"
	"slices"
)

// checkHeaders checks the headers of the files against the schema and against
// each other, before the rows are read.
func (l *loader) checkHeaders() error {
	if err := l.checkSwapped(); err != nil {
		return err
	}
	id := columnName(l.schema.ID)
	for _, f := range l.files() {
		if !f.has(id) {
			return f.wrong(1, id, "is missing; the header has %s", some(f.header))
		}
	}
	if g := columnName(l.schema.Group); g != "" && !l.primary.has(g) {
		return l.primary.wrong(1, g, "is missing; the header has %s", some(l.primary.header))
	}
	if l.joined != nil {
		for _, name := range l.joined.header {
			if name != id && l.primary.has(name) {
				return l.joined.wrong(1, name, "is also in %q", l.primary.path)
			}
		}
	}
	if err := l.checkIgnored(); err != nil {
		return err
	}
	return l.checkGroups()
}

func (l *loader) files() []*csvFile {
	if l.joined == nil {
		return []*csvFile{l.primary}
	}
	return []*csvFile{l.primary, l.joined}
}

// checkSwapped rejects a second file with columns that only the primary file
// should have.
func (l *loader) checkSwapped() error {
	if l.joined == nil {
		return nil
	}
	for _, name := range []string{columnName(l.schema.Label), columnName(l.schema.Time), columnName(l.schema.Group)} {
		if name != "" && l.joined.has(name) && !l.primary.has(name) {
			return l.primary.wrong(1, name, "is missing, but %q has it: are the two files swapped?", l.joined.path)
		}
	}
	return nil
}

// checkIgnored finds the columns of the files that are not in the schema.
func (l *loader) checkIgnored() error {
	for _, f := range l.files() {
		for i, r := range l.roles(f) {
			if r.kind != roleIgnored || r.group {
				continue
			}
			if l.schema.Strict {
				return f.wrong(1, f.header[i], "is in no group, and strict is set")
			}
			l.report.Ignored = append(l.report.Ignored, f.header[i])
		}
	}
	return nil
}

// checkGroups finds the columns of the schema that no file has.
func (l *loader) checkGroups() error {
	kept := make([]int, len(l.schema.Groups))
	lost := make([][]string, len(l.schema.Groups))
	for _, c := range l.columns {
		here := slices.ContainsFunc(l.files(), func(f *csvFile) bool { return f.has(c.name) })
		if here {
			kept[c.group]++
			continue
		}
		lost[c.group] = append(lost[c.group], c.name)
		l.report.Absent = append(l.report.Absent, c.name)
	}
	for g, n := range kept {
		if n == 0 {
			return l.groupLost(g, lost[g])
		}
	}
	return nil
}

func (l *loader) groupLost(g int, columns []string) error {
	where := "this file, and there is no second file to join"
	if l.joined != nil {
		where = fmt.Sprintf("this file or in %q", l.joined.path)
	}
	return l.primary.wrong(1, columns[0], "no column of group %q is in %s; the group has %s", l.schema.Groups[g].Name, where, some(columns))
}

// roles returns the roles of the columns of a file.
func (l *loader) roles(f *csvFile) []role {
	at := make(map[string]int, len(l.columns))
	for i, c := range l.columns {
		at[c.name] = i
	}
	roles := make([]role, len(f.header))
	for i, name := range f.header {
		column, known := at[name]
		switch {
		case name == columnName(l.schema.ID):
			roles[i].kind = roleID
		case name == columnName(l.schema.Label):
			roles[i].kind = roleLabel
		case known:
			roles[i] = role{kind: l.columns[column].role(), column: column}
		}
		roles[i].group = f == l.primary && name == columnName(l.schema.Group)
	}
	return roles
}

func (c *schemaColumn) role() roleKind {
	switch {
	case c.time:
		return roleTime
	case c.categorical:
		return roleLevel
	}
	return roleNumber
}
