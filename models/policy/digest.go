package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"pipe/costs"
	"pipe/onnx"
)

// Digest identifies a policy: SHA-256 in hexadecimal over the nodes and constants of its graph and over its metadata.
// Two files with the same digest come from the same training; they are not two seeds of it.
//
// Metadata that does not change the policy is not included: names and digests of the files behind the tensor, the loss
// on validation rows, the merged encoder, and the name of the graph.
func Digest(m *onnx.Model, info *Info) (string, error) {
	graph, err := m.Digest()
	if err != nil {
		return "", err
	}
	about := m.Metadata()
	for key := range about {
		if strings.HasPrefix(key, keyPrefix+"encoder.") {
			delete(about, key)
		}
	}
	delete(about, keyPrefix+"validation")
	actions := *info.Actions
	actions.Digests = nil
	if d, ok := info.Actions.Digests[costs.FeatureDigest]; ok {
		actions.Digests = map[string]string{costs.FeatureDigest: d}
	}
	about[keyPrefix+"actions"] = string(actions.JSON())
	text, err := json.Marshal(about)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(text, graph...))
	return hex.EncodeToString(sum[:]), nil
}
