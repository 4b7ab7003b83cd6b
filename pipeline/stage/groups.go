package stage

import "pipe/internal/safetext"

// GroupsLine states the number of groups of rows, "" if there are none, and whether some are divided.
func GroupsLine(groups, divided int) string {
	return safetext.Counted("%d", groups) + safetext.Counted(", %d of them in more than one split: figures on held-out rows may be too good", divided)
}
