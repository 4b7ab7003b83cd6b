package outcome

// What an import does with instances that are not complete.
const (
	MissingError = "error" // the import fails
	MissingDrop  = "drop"  // they are left out and counted
	// MissingKeep keeps instances that have an outcome and lack others, which are
	// unknown in the tensor; those that lack other things are dropped.
	MissingKeep = "keep"
)

// missing is the setting, with its older name and its default.
func (c *Config) missing() string {
	switch {
	case c.Missing != "":
		return c.Missing
	case c.DropIncomplete:
		return MissingDrop
	}
	return MissingError
}
