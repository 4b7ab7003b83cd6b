package build

import (
	"fmt"
	"strings"
)

// BadImage is an image that a build cannot use, or a folder of images that it
// cannot look into.
type BadImage struct {
	ID     string `json:"id"`     // path below the folder of the images, with forward slashes; that of a folder ends in one
	Reason string `json:"reason"` // what is wrong with it, without its path
}

// BadImagesError lists every image of a source that cannot be used. Builds with
// Options.SkipBad go on without them.
type BadImagesError struct {
	Folder string     // that the ids start from
	Images []BadImage // all, by id
	File   string     // holds the whole list; "": it was not written
}

// badShown is how many images an error lists at most.
const badShown = 12

// Error counts the images and lists the first ones, a line each.
func (e *BadImagesError) Error() string {
	var b strings.Builder
	noun := "images"
	if len(e.Images) == 1 {
		noun = "image"
	}
	fmt.Fprintf(&b, "%d bad %s in %q:", len(e.Images), noun, e.Folder)
	for _, bad := range e.Images[:min(badShown, len(e.Images))] {
		fmt.Fprintf(&b, "\n  %s: %s", printable(bad.ID), printable(bad.Reason))
	}
	if more := len(e.Images) - badShown; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}

// Hint tells the way out.
func (e *BadImagesError) Hint() string {
	hint := "mend or remove them, or leave them out with --skip-bad"
	if e.File != "" {
		hint += "; all of them are listed in " + e.File
	}
	return hint
}

// printable keeps a name or reason on its line: what does not print is escaped.
func printable(s string) string {
	quoted := fmt.Sprintf("%q", s)
	if quoted[1:len(quoted)-1] == s {
		return s
	}
	return quoted
}
