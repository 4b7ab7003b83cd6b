package decide

import (
	"errors"
	"strings"
	"testing"

	"pipe/internal/hint"
)

// TestComputedColumns: where an import made a feature from another column, the hint says how to write it.
func TestComputedColumns(t *testing.T) {
	cause := errors.New("cause")
	for names, says := range map[string]string{
		"words,topic=law":      `pipe import made "topic=law": write it as a column, 1 or 0, by the column topic`,
		"words,length of text": `pipe import made "length of text": write it as a column, the number of characters of text`,
		"words,n":              "",
	} {
		err := computed(strings.Split(names, ","), cause)
		h, hinted := errors.AsType[*hint.Error](err)
		if !errors.Is(err, cause) || hinted != (says != "") || hinted && h.Hint() != says {
			t.Errorf("%s: %v, %v", names, err, h)
		}
	}
}
