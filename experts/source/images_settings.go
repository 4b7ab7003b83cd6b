package source

import (
	"errors"
	"fmt"

	"pipe/experts/builder/part"
	"pipe/featurize/pixel"
)

type imagesSettings struct {
	Folder     part.Path    `json:"folder"`
	List       part.Path    `json:"list"`            // table of the instances: id is a path below folder, label, split; "": all images of the folder
	Labels     part.Path    `json:"labels"`          // table with id and label (and split) of all images of the folder
	LabelsFrom string       `json:"labels_from"`     // folder, name or table; "": table if one is set, else folder
	Classes    part.Path    `json:"classes"`         // class list: labels are its ids; "": any label
	ID         string       `json:"id"`              // columns of the table; "": path in a list, else id
	Label      string       `json:"label"`           //
	Split      string       `json:"split"`           // "": none
	Group      string       `json:"group,omitempty"` // "": none
	PerLabel   int          `json:"per_label"`       // limit on instances per label, the first in order; 0: all
	Decoder    string       `json:"decoder"`         // see pixel.OpenDecoder
	Limits     pixel.Limits `json:"limits"`
}

// complete fills in defaults and reports every problem.
func (c *imagesSettings) complete() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	table := c.Labels != "" || c.List != ""
	switch {
	case c.LabelsFrom == "" && table:
		c.LabelsFrom = labelsTable
	case c.LabelsFrom == "":
		c.LabelsFrom = labelsFolder
	}
	if c.ID == "" && c.List != "" {
		c.ID = "path"
	} else if c.ID == "" {
		c.ID = "id"
	}
	if c.Folder == "" {
		add("folder: not set")
	}
	if c.PerLabel < 0 {
		add("per_label is %d", c.PerLabel)
	}
	if c.Labels != "" && c.List != "" {
		add("labels and list are both set; a list has its own labels")
	}
	if c.Group != "" && !table {
		add("group is a column, but neither labels nor list names a table")
	}
	switch c.LabelsFrom {
	case labelsTable:
		if !table {
			add("labels_from is table, but neither labels nor list names a table")
		}
	case labelsFolder, labelsName:
		if c.Labels != "" {
			add("labels_from is %s, but labels names a table", c.LabelsFrom)
		}
	default:
		add("labels_from is %q; known are %s, %s, %s", c.LabelsFrom, labelsFolder, labelsName, labelsTable)
	}
	return errors.Join(append(problems, c.Limits.Validate())...)
}
