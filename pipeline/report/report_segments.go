package report

// Segments is where one policy saves and where it loses, compared with a constant. The intervals of all segments hold
// together: see docs/report.md.
type Segments struct {
	Setting  string    `json:"setting,omitempty"`
	Lambda   float64   `json:"lambda"`
	Policy   string    `json:"policy"` // as in the verdict
	Pair     string    `json:"pair"`   // the constant
	Rows     int       `json:"rows"`
	Compared int       `json:"compared"` // segments that the intervals hold for together
	Segments []Segment `json:"segments"` // by falling size of the effect
	LeftOut  []LeftOut `json:"left_out,omitempty"`
}

// The kinds of segments.
const (
	ByLabel    = "label"
	ByCategory = "category" // of columns with a common name, such as topic=law
	ByRange    = "range"    // of a feature: quarters of the training rows
	ByCluster  = "cluster"  // of rows with similar features
)

// What is found in a segment.
const (
	Helps = "helps" // the interval is above 0
	Harms = "harms" // the interval is below 0
)

// Segment is a part of the rows.
type Segment struct {
	By      string      `json:"by"`
	Name    string      `json:"name"`
	Like    string      `json:"like,omitempty"`   // of a cluster: the id of the reported row nearest to its centre
	Merged  int         `json:"merged,omitempty"` // small segments that are in it
	Rows    int         `json:"rows"`
	Sets    int         `json:"sets"`              // of rows that belong together
	Saved   *Interval   `json:"saved,omitempty"`   // cost of the constant minus that of the policy, mean over the segment
	Mean    float64     `json:"mean"`              // of the same
	Effect  float64     `json:"effect"`            // its part of the saving over all rows: mean x rows / all rows
	Finding string      `json:"finding,omitempty"` // Helps or Harms
	Chosen  []PairShare `json:"chosen"`            // what the policy chooses there: the three most frequent pairs
}

// PairShare is how often a pair is chosen, as a share of the rows.
type PairShare struct {
	Pair  string  `json:"pair"`
	Share float64 `json:"share"`
}

// LeftOut counts the segments of one kind that are too small to be shown even together.
type LeftOut struct {
	By       string `json:"by"`
	Name     string `json:"name,omitempty"` // of the feature
	Segments int    `json:"segments"`
	Rows     int    `json:"rows"`
}
