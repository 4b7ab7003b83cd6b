package policies

// Verdict is the result of a reload for a file.
type Verdict string

// The verdicts.
const (
	Added     Verdict = "added"     // a new policy is served
	Replaced  Verdict = "replaced"  // another version is served now
	Unchanged Verdict = "unchanged" // the file is as it was
	Refused   Verdict = "refused"   // the file cannot be served; the previous version still is, if there is one
	Kept      Verdict = "kept"      // the file is missing; its policy is still served
	Removed   Verdict = "removed"   // the file is missing, and its policy is no longer served
)

// Change is the result of a reload for one file.
type Change struct {
	Prices  bool    `json:"-"` // the file is that of the prices, and not of a policy; it has no name
	Name    string  `json:"name"`
	File    string  `json:"file"`
	Old     string  `json:"old,omitempty"` // digest of the version that was served before
	New     string  `json:"new,omitempty"` // digest of the version that is served now
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"` // why a file was refused or kept
	Err     error   `json:"-"`                // the same as an error
}
