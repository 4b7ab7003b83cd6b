package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

// groupsLine states the number of groups of rows, "" if there are none, and whether some are divided.
func groupsLine(groups, divided int) string {
	return counted("%d", groups) + counted(", %d of them in more than one split: figures on held-out rows may be too good", divided)
}

// counted formats a count; it is empty for zero.
func counted(format string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// firstOf lists the first of a number of things.
func firstOf(list []string, count int) string {
	list = slices.Clone(list)
	if count > len(list) {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}
