package prices

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"pipe/internal/config"
)

// Tier are the prices of a call whose prompt has more than a number of tokens, those from a cache included. They are those of all
// tokens of the call, also of the answer, as services bill it.
type Tier struct {
	Tokens  float64  `yaml:"tokens" json:"tokens"`           // of the prompt; with more of them the prices hold
	In      *float64 `yaml:"in" json:"in,omitempty"`         // these are as in Period
	Cached  *float64 `yaml:"cached" json:"cached,omitempty"` //
	Out     *float64 `yaml:"out" json:"out,omitempty"`       //
	Special `yaml:",inline"`

	// Other names of In and Out in files; nil after Read.
	Prompt     *float64 `yaml:"prompt" json:"-"`
	Completion *float64 `yaml:"completion" json:"-"`
}

// UnmarshalYAML reads the prices of tokens under either of their names.
func (t *Tier) UnmarshalYAML(n *yaml.Node) error {
	type plain Tier // avoids recursion into this method
	if err := n.Load((*plain)(t), yaml.WithKnownFields()); err != nil {
		return err
	}
	return OneName(&t.In, &t.Out, &t.Prompt, &t.Completion)
}

// mostTokens is more than any prompt has.
const mostTokens = 1e12

// validateTiers reports every problem of the tiers. A tier has the prices that the period has: one that is left out
// could mean the lower price, or none.
func (p Period) validateTiers(problems *config.Problems) {
	seen := make(map[float64]bool)
	for i, t := range p.Above {
		at := fmt.Sprintf("above[%d]", i)
		problems.Check(t.Tokens >= 1 && t.Tokens <= mostTokens, "%s.tokens is %v; it must be the number of tokens of a prompt above which the prices hold, such as 200000", at, t.Tokens)
		problems.Check(!seen[t.Tokens], "%s begins at %v tokens, as another one does", at, t.Tokens)
		seen[t.Tokens] = true
		sameKeys(problems, at, tokenPrices(t.In, t.Cached, t.Out, t.Special), tokenPrices(p.In, p.Cached, p.Out, p.Special))
	}
}

// forPrompt returns the prices of a call whose prompt has this many tokens.
func (p Period) forPrompt(tokens float64) Period {
	for _, t := range p.Above { // in order
		if tokens > t.Tokens {
			p.In, p.Cached, p.Out, p.Special = t.In, t.Cached, t.Out, t.Special
		}
	}
	return p
}
