package prices

import (
	"cmp"

	"pipe/internal/config"
)

// Capabilities are what a model can take. What is nil is not known.
type Capabilities struct {
	Context    *int64 `yaml:"context" json:"context,omitempty"`         // most tokens of a prompt and its answer together
	Output     *int64 `yaml:"output" json:"output,omitempty"`           // most tokens that a caller may ask for
	Tools      *bool  `yaml:"tools" json:"tools,omitempty"`             // calls of tools
	Images     *bool  `yaml:"images" json:"images,omitempty"`           // pictures in prompts
	Audio      *bool  `yaml:"audio" json:"audio,omitempty"`             // sound in prompts
	Files      *bool  `yaml:"files" json:"files,omitempty"`             // documents in prompts
	JSONSchema *bool  `yaml:"json_schema" json:"json_schema,omitempty"` // answers that match a JSON schema
}

// Over returns the capabilities of c, and where c does not know one, that of below.
func (c Capabilities) Over(below Capabilities) Capabilities {
	return Capabilities{
		Context: cmp.Or(c.Context, below.Context), Output: cmp.Or(c.Output, below.Output), Tools: cmp.Or(c.Tools, below.Tools), Images: cmp.Or(c.Images, below.Images),
		Audio: cmp.Or(c.Audio, below.Audio), Files: cmp.Or(c.Files, below.Files), JSONSchema: cmp.Or(c.JSONSchema, below.JSONSchema),
	}
}

// Validate reports every problem.
func (c Capabilities) Validate() error {
	var p config.Problems
	for _, limit := range []struct {
		key   string
		value *int64
	}{{"context", c.Context}, {"output", c.Output}} {
		p.Check(limit.value == nil || *limit.value >= 1 && *limit.value <= mostTokens, "%s must be a number of tokens from 1 to %v", limit.key, float64(mostTokens))
	}
	return p.Err()
}
