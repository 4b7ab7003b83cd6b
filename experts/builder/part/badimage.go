package part

import (
	"fmt"
	"strings"

	"pipe/internal/safetext"
)

// BadImage is an image that a build cannot use, or a folder of images that it
// cannot read.
type BadImage struct {
	ID     string `json:"id"`     // path below the folder of the images, with forward slashes; that of a folder ends in one
	Reason string `json:"reason"` // what is wrong with it, without its path
}

// String returns both on one line, even if a file name has line breaks.
func (b BadImage) String() string { return safetext.Line(b.ID) + ": " + safetext.Line(b.Reason) }

// BadImagesError lists every image of a source that cannot be used. Builds with
// Options.SkipBad go on without them.
type BadImagesError struct {
	Folder string     // that the ids start from
	Images []BadImage // all, by id
	Usable int        // images that can be used
	File   string     // holds the whole list; "": it was not written
}

// BadShown is how many images an error lists at most.
const BadShown = 12

// Error counts the images and lists the first ones, a line each.
func (e *BadImagesError) Error() string {
	var b strings.Builder
	noun := "images"
	if len(e.Images) == 1 {
		noun = "image"
	}
	fmt.Fprintf(&b, "%d bad %s in %q:", len(e.Images), noun, e.Folder)
	for _, line := range FirstBad(e.Images) {
		b.WriteString("\n  " + line)
	}
	return b.String()
}

// FirstBad describes the first 12 images, a line each, and counts the others.
func FirstBad(images []BadImage) []string {
	var lines []string
	for _, bad := range images[:min(BadShown, len(images))] {
		lines = append(lines, bad.String())
	}
	if more := len(images) - BadShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// Hint returns a remedy.
func (e *BadImagesError) Hint() string {
	hint := "repair or remove them, or skip them with --skip-bad"
	if e.Usable == 0 {
		hint = "no image is left: check folder, decoder and limits of the instances"
	}
	if e.File != "" {
		hint += "; all of them are listed in " + e.File
	}
	return hint
}

// BadList is the list as text, one line per image.
func BadList(images []BadImage) string {
	var b strings.Builder
	for _, bad := range images {
		b.WriteString(bad.String() + "\n")
	}
	return b.String()
}
