package protocol

// Twin is a service with OpenAI's chat completions that reads its key from a header of its own.
var Twin = &Kind{
	Name: "twin", Format: Chat, URL: OpenAI.URL, Authorize: Azure.Authorize,
}
