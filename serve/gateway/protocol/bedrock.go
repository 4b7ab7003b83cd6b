package protocol

import (
	"io"
	"net/url"
	"strings"

	"pipe/serve/gateway/protocol/services"
)

// Bedrock is Amazon's service of models of many makers, with its protocol Converse. Its base_url is that of a region, such as
// https://bedrock-runtime.us-east-1.amazonaws.com. A key is one of Bedrock's own; without one, requests are signed with
// the credentials of AWS that this machine has.
var Bedrock = &Kind{
	Name: "bedrock", Format: services.Bedrock{},
	URL: func(base, model string, _ Format, stream bool) string {
		call := "/converse"
		if stream {
			call = "/converse-stream"
		}
		return strings.TrimSuffix(base, "/") + "/model/" + bedrockModel(model) + call
	},
	Authorize: bearer, Sign: services.SignAWS,
	Frames:      func(in io.Reader, most int) Frames { return services.BedrockFrames(in, most) },
	StreamTypes: []string{"application/vnd.amazon.eventstream"},
}

// bedrockModel is a name or an ARN in a path, where signatures need more escapes than a URL.
func bedrockModel(model string) string { return strings.ReplaceAll(url.PathEscape(model), ":", "%3A") }
