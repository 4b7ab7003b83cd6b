package grow

import "pipe/costs"

// GroupReport counts the groups of a merged tensor.
type GroupReport struct {
	Groups  int      `json:"groups,omitempty"`        // distinct groups
	Shared  int      `json:"shared_groups,omitempty"` // of these, groups with rows of several files
	Divided int      `json:"divided,omitempty"`       // groups with rows in several splits
	Across  int      `json:"divided_by_merging,omitempty"`
	First   []string `json:"first_divided,omitempty"` // some of the divided groups
}

// groupState is what is known of a group. Splits are bits.
type groupState struct {
	all, here uint8 // splits of its rows, and of those in the last file
	file      int32 // that file
	shared    bool
	within    bool // one file divides it
}

// groupCount counts groups over files that are read one after the other.
type groupCount struct {
	groups  map[string]groupState
	order   []string // the first divided groups
	divided int
}

// shownGroups is how many divided groups a report lists.
const shownGroups = 5

func (c *groupCount) add(file int, group string, split costs.Split) {
	if c.groups == nil {
		c.groups = map[string]groupState{}
	}
	s, known := c.groups[group]
	if !known {
		s.file = int32(file)
	}
	if s.file != int32(file) {
		s.file, s.here, s.shared = int32(file), 0, true
	}
	bit := uint8(1) << split
	before := several(s.all)
	s.all |= bit
	s.here |= bit
	s.within = s.within || several(s.here)
	if several(s.all) && !before {
		c.divided++
		if len(c.order) < shownGroups {
			c.order = append(c.order, group)
		}
	}
	c.groups[group] = s
}

func several(splits uint8) bool { return splits&(splits-1) != 0 }

func (c *groupCount) report() GroupReport {
	r := GroupReport{Groups: len(c.groups), Divided: c.divided, First: c.order}
	for _, s := range c.groups {
		if s.shared {
			r.Shared++
		}
		if several(s.all) && !s.within {
			r.Across++
		}
	}
	return r
}
