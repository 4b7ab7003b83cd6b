package advice

import "pipe/experts/builder/part"

// Kinds returns the kinds of advice by name. A new one is a file with its settings and its constructor, and one line here.
func Kinds() map[string]part.NewAdvice {
	return map[string]part.NewAdvice{
		"fields":   newFields,
		"none":     newNone,
		"passages": newPassages,
		"prompts":  newPrompts,
		"views":    newViews,
		"columns":  newColumns,
		"groups":   newGroups,
	}
}
