package policy

import "pipe/costs"

// Origin is the part of Policy.Info about the tensor that a policy was trained on: its digest, and the names of its
// features if it has them.
func Origin(t *costs.Tensor) map[string]string {
	about := map[string]string{OriginKey: t.Digest()}
	if names, ok := t.Meta[costs.NamesKey]; ok {
		about[NamesKey] = names
	}
	return about
}
