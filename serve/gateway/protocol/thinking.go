package protocol

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"

	"pipe/serve/gateway/protocol/middle"
)

// thinkingBlock reads a block of reasoning as Anthropic's protocol has it, with or without a signature. Other programs put the
// same blocks into chat completions.
func thinkingBlock(r *reader, path string, v json.RawMessage) middle.Part {
	p := middle.Part{Kind: middle.Reasoning}
	signature := r.textTo(&p.Signature)
	r.members(path, v, members{"type": ignored, "thinking": r.textTo(&p.Text), "signature": signature, "data": signature})
	p.Signature, p.Signer = readSignature(p.Signature, "messages")
	return p
}

// writeThinking writes a block of reasoning.
func writeThinking(p middle.Part, own string) object {
	if p.Text == "" && p.Signature != "" {
		return object{"type": "redacted_thinking", "data": writeSignature(p, own)}
	}
	return object{"type": "thinking", "thinking": p.Text, "signature": writeSignature(p, own)}
}

// writeSignature is the signature of a reasoning as a caller gets it. That of another protocol's service has the name of the
// protocol in front, so that it is sent back to none but such a service.
func writeSignature(p middle.Part, own string) string {
	if p.Signer == own || p.Signer == "" {
		return p.Signature
	}
	return p.Signer + ":" + p.Signature
}

// readSignature is the opposite. Signatures are base64, which has no colon.
func readSignature(s, own string) (signature, signer string) {
	if name, rest, ok := strings.Cut(s, ":"); ok {
		return rest, name
	}
	return s, own
}

// readRandom is rand.Read. Tests replace it.
var readRandom = rand.Read

// newID is a random id.
func newID(prefix string) string {
	var b [12]byte
	_, _ = readRandom(b[:]) // it never fails
	return prefix + hex.EncodeToString(b[:])
}
