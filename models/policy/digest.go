package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"pipe/costs"
	"pipe/onnx"
)

// Digest identifies a policy, in hexadecimal: nodes and constants of its graph,
// and its metadata. Two files with the same digest are the same training, not two
// seeds of one. Left out is what a file may say or not without being another
// policy: the names and digests of the files that the tensor was made of, the
// figure on the rows that it was reported on, the encoder that was in front, and
// how the file calls its graph.
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
