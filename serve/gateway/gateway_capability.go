package gateway

import "pipe/serve/gateway/capability"

// lackOf says what an expert lacks for the request. ok is true if nothing is known to be missing. Experts of whose capabilities
// nothing is configured are not looked at, and then the request is not read further.
func (c *chat) lackOf(name string) (l capability.Lack, ok bool) {
	e := c.experts[name]
	if e == nil || !e.LimitsKnown() {
		return l, true
	}
	if c.needs == nil {
		needs := capability.Of(c.request.Middle())
		c.needs = &needs
	}
	return capability.Check(e.Capabilities(), *c.needs)
}
