package outcome

import "pipe/costs"

// Base describes a tensor that the imported rows are added to. The rows get its
// experts, advice and features, in its order.
type Base struct {
	Actions *costs.Actions
	// FeatureNames are the names of its features; nil if it does not record them.
	FeatureNames []string
	Facts        []costs.Fact // of its answers; their kinds are those of the new rows
	// NewCategories accepts values of categorical columns for which the tensor has
	// no feature: all features of the column are 0, and the report counts them.
	// Otherwise they are an error.
	NewCategories bool
}

// complete fills in what the configuration leaves open.
func (b *Base) complete(c *Config) {
	if len(c.Experts) == 0 {
		for _, e := range b.Actions.Experts {
			c.Experts = append(c.Experts, e.Name)
		}
	}
	if len(c.Advice) == 0 {
		for _, v := range b.Actions.Advice {
			c.Advice = append(c.Advice, v.Name)
		}
	}
	if c.Unavailable == nil {
		for _, p := range b.Actions.Unavailable {
			c.Unavailable = append(c.Unavailable, PairName{b.Actions.Experts[p.Expert].Name, b.Actions.Advice[p.Advice].Name})
		}
	}
	if c.FeatureName == "" {
		c.FeatureName = b.Actions.Features.Name
	}
}
